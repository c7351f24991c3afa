/**
 * The suite that every store passes, for any runner. The two stores of this package are run through the same list.
 *
 * A case fails by an error of `node:assert`. Each has a database of its own and closes what it has opened, so that they
 * can be run in any order, and one beside another.
 *
 * @module
 */

import type { Store } from '../../store/contract/store.ts'
import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { EVERY_CASE } from './every-case.ts'
import type { AnyStore, OpenedStore, OwnTransaction, StoreCase } from './store-case.ts'

/** What the suite needs to run on a store. */
export interface StoreConformanceOptions<Sql> {
  /**
   * A database with nothing in it but a table of effects of yours, without a unique constraint. Called by each case
   * for itself.
   */
  readonly openDatabase: () => Promise<ConformanceDatabase<Sql>>
  /**
   * Whether one transaction writes at a time, as on SQLite. Then the cases are left out in which two are open at once.
   *
   * @defaultValue false
   */
  readonly hasOneWriter?: boolean
}

/** A database for the length of one case. */
export interface ConformanceDatabase<Sql> {
  /** A store on it that is not open yet. Each one has connections of its own, as if it were in another process. */
  newStore(): Store<Sql, unknown>
  /** Writes one row with this key into the table of effects, through a transaction that a store has lent. */
  writeEffect(tx: Sql, key: string): Promise<void>
  /** Counts the rows with this key, or all: through a lent transaction, or what is committed where none is given. */
  countEffects(key: string | undefined, tx: Sql | undefined): Promise<number>
  /** Begins a transaction on a connection that no store knows. */
  begin(): Promise<OwnTransaction>
  /** Gives the database up. The stores made on it have been closed. */
  close(): Promise<void>
}

/** One thing that a store must do. */
export interface ConformanceCase {
  /** The part of the contract, and the promise. */
  readonly name: string
  /** Rejects when the store does not keep it. */
  readonly run: () => Promise<void>
}

/**
 * The promises of the store contract as cases for your runner:
 *
 * ```ts
 * for (const { name, run } of storeConformance({ openDatabase })) test(name, run)
 * ```
 */
export function storeConformance<Sql>(
  options: StoreConformanceOptions<Sql>,
): readonly ConformanceCase[] {
  rejectUnknownKeys('storeConformance', options, ['openDatabase', 'hasOneWriter'])
  const { openDatabase, hasOneWriter = false } = options
  if (typeof openDatabase !== 'function')
    throw new OptionInvalidError('storeConformance.openDatabase', 'a function', openDatabase)
  if (typeof hasOneWriter !== 'boolean')
    throw new OptionInvalidError('storeConformance.hasOneWriter', 'true or false', hasOneWriter)

  const leftOut = hasOneWriter ? 'many writers' : 'one writer'
  return EVERY_CASE.filter(({ needs }) => needs !== leftOut).map((each) => ({
    name: each.name,
    run: () => runCase(each, { openDatabase, hasOneWriter }),
  }))
}

async function runCase<Sql>(
  each: StoreCase,
  options: Required<StoreConformanceOptions<Sql>>,
): Promise<void> {
  const closers: (() => Promise<void>)[] = []
  let hasPassed = false
  try {
    await each.run(() => openStore(options, closers))
    hasPassed = true
  } finally {
    // Of a case that has failed its own error is what tells, and not what was in the way of closing.
    for (const close of closers.toReversed())
      await close().catch((error: unknown) => {
        if (hasPassed) throw error
      })
  }
}

async function openStore<Sql>(
  { openDatabase, hasOneWriter }: Required<StoreConformanceOptions<Sql>>,
  closers: (() => Promise<void>)[],
): Promise<OpenedStore> {
  const database = await openDatabase()
  closers.push(() => database.close())
  const newStore = (): AnyStore => {
    const store = database.newStore()
    closers.push(() => store.close())
    return store
  }
  const second = async (): Promise<AnyStore> => {
    const store = newStore()
    await store.open()
    return store
  }
  return {
    store: await second(),
    hasOneWriter,
    newStore,
    second,
    writeEffect: (tx, key) => database.writeEffect(tx as Sql, key),
    countEffects: (key, tx) => database.countEffects(key, tx as Sql | undefined),
    begin: () => database.begin(),
  }
}
