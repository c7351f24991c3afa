import type { StoreUnderTest } from '../support/store-under-test.ts'
import { fifoContract } from './fifo.ts'

/** What each order promises, on every store. Run by `test/inbox/ordering-<store>.test.ts`. */
export function orderingContract(store: StoreUnderTest): void {
  fifoContract(store)
}
