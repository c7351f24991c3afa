import type { Store } from '../store/contract/store.ts'

/** The only way to the store: an operator may be the first who needs it, so that it is opened if it is not open yet. */
export type Act = <Result>(action: (store: Store<unknown>) => Promise<Result>) => Promise<Result>
