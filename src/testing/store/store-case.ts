import type { OwnTx } from '../../store/contract/transaction.ts'
import type { Store } from '../../store/contract/store.ts'

/** A store, whatever it lends: cases write through functions of its author's. */
export type AnyStore = Store<unknown>

/** One thing that every store must do. */
export interface StoreCase {
  readonly name: string
  /** With one writer a second transaction waits for the first, and a case that needs both at once is left out. */
  readonly needs?: 'one writer' | 'many writers'
  run(open: OpenStore): Promise<void>
}

/** Opens a store on a database of its own, for the length of the case. */
export type OpenStore = () => Promise<OpenedStore>

export interface OpenedStore {
  readonly store: AnyStore
  readonly hasOneWriter: boolean
  /** A store on the same database that is not open yet. */
  readonly newStore: () => AnyStore
  /** Another, independent store on the same database, opened. */
  readonly second: () => Promise<AnyStore>
  /** Writes one row into the table of effects, through a transaction that the store has lent. */
  readonly writeEffect: (tx: unknown, key: string) => Promise<void>
  /** Counts what is committed in it, or what a lent transaction sees. */
  readonly countEffects: (key?: string, tx?: unknown) => Promise<number>
  /** A transaction of the user's own, on a connection that no store knows. */
  readonly begin: () => Promise<OwnTransaction>
}

/** A transaction that was not lent by the store: your own code has begun it. */
export interface OwnTransaction {
  /** What `inbox.once` and `outbox.send` are handed. */
  readonly tx: OwnTx
  /** Writes one row into the table of effects. */
  writeEffect(key: string): Promise<void>
  /** Commits, and gives the connection up. */
  commit(): Promise<void>
  /** Rolls back, and gives the connection up. */
  rollback(): Promise<void>
}

/** Says of each what part of the contract it belongs to. */
export function casesOf(part: string, cases: readonly StoreCase[]): readonly StoreCase[] {
  return cases.map((each) => ({ ...each, name: `${part}: ${each.name}` }))
}
