/**
 * What the contract suite needs to know of a store. An engine gives it a `StoreUnderTest`; every
 * test has a database of its own with `openStore` and loses it when it ends.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
import type { Operator } from '../../src/admin/operator.ts'
import type { EncryptionOptions } from '../../src/store/shared/encryption/encryption-options.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { OwnTransaction } from '../../src/testing/store/index.ts'

export interface StoreUnderTest<Database extends DatabaseUnderTest = DatabaseUnderTest> {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Whether its stores encrypt: then no row can be copied under another id, and a body is larger where it is stored. */
  readonly encrypts?: boolean
  /** A database with our tables and nothing in them. */
  create(): Promise<Database>
  /** One without any of our tables. */
  createEmpty(): Promise<Database>
  /** Another way to the operator of an inbox. Left out, `inbox.admin` itself. */
  readonly operate?: (inbox: { readonly admin: Operator }) => Operator
}

/** Where engines differ. Each false one is a reason to skip a test, and says why. */
export interface StoreCapabilities {
  /** Whether two groups can be open at once. SQLite has one writer, so its second claim waits. */
  readonly parallelGroups: boolean
  /** Whether a failed statement leaves the transaction usable only after a rollback to a savepoint, as PostgreSQL's does. */
  readonly failedStatementAborts: boolean
  /** Whether a group may be without a transaction until it needs one. PostgreSQL's claim is the transaction. */
  readonly opensLate: boolean
}

/** What both engines lend to a handler, as far as this suite uses it. `$1` is a placeholder in both. */
export interface QueryTx {
  query(
    sql: string,
    params?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
  write(sql: string, params?: readonly unknown[]): void
  savepoint<Result>(work: (tx: QueryTx) => Result | Promise<Result>): Promise<Result>
  asNested(): QueryTx
}

/** Options that both engines have. */
export interface StoreOptionsUnderTest {
  readonly migrate?: 'auto' | 'check'
  readonly encryption?: EncryptionOptions
}

export interface DatabaseUnderTest {
  /** A store that is not open yet. Each one has connections of its own, as if in another process. */
  newStore(options?: StoreOptionsUnderTest): Store<QueryTx>
  /** Runs a statement on a connection that no store knows. */
  query(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** Begins a transaction of the user's own, on a connection that no store knows. */
  begin(): Promise<OwnTransaction>
  /** Makes the database look as if a later version of this package had migrated it. */
  migrateBeyond(): Promise<void>
  /** Makes the database look as if the newest migration had not run. */
  migrateBack(): Promise<void>
  /** Closes every store made here and gives the database up. */
  close(): Promise<void>
}

export interface OpenedStore<Database extends DatabaseUnderTest = DatabaseUnderTest> {
  readonly database: Database
  readonly store: Store<QueryTx>
  /** Another, independent store on the same database, opened. */
  second(): Promise<Store<QueryTx>>
  /** Makes the table `effects (event_key text, note text)` without a unique constraint. */
  createEffects(): Promise<void>
  /** Counts what is committed in it. */
  countEffects(key?: string): Promise<number>
}

/** Calls back at the end. */
export type OnEnd = (end: () => Promise<void>) => void

/** Opens a store on a fresh database, for the length of the running test if nothing else is said. */
export async function openStore<Database extends DatabaseUnderTest>(
  underTest: StoreUnderTest<Database>,
  { onEnd = onTestFinished, ...options }: StoreOptionsUnderTest & { readonly onEnd?: OnEnd } = {},
): Promise<OpenedStore<Database>> {
  const database = await underTest.create()
  onEnd(() => database.close())
  const store = database.newStore(options)
  await store.open()

  return {
    database,
    store,
    second: async () => {
      const second = database.newStore(options)
      await second.open()
      return second
    },
    createEffects: async () => {
      await database.query('create table effects (event_key text, note text)')
    },
    countEffects: async (key) => {
      const rows =
        key === undefined
          ? await database.query('select count(*) as found from effects')
          : await database.query('select count(*) as found from effects where event_key = $1', [
              key,
            ])
      return Number(rows[0]?.['found'])
    },
  }
}

/** A database without any of our tables, for the length of the running test. */
export async function createEmptyDatabase<Database extends DatabaseUnderTest>(
  underTest: StoreUnderTest<Database>,
): Promise<Database> {
  const database = await underTest.createEmpty()
  onTestFinished(() => database.close())
  return database
}
