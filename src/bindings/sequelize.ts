/**
 * `hookonce/sequelize`: a handler's `tx` is a `Transaction` of Sequelize's, on either store.
 *
 * Sequelize runs a statement on the connection of the transaction that it is passed, so that the models of the user work
 * as they are, with `{ transaction: tx }`. On PostgreSQL the connection is a client of `pg` that is the lent transaction
 * (`asPgClient`) and reads values as Sequelize does, on SQLite one of ours (`sequelize-sqlite.ts`). Nothing of Sequelize is imported: the instance brings code and types.
 *
 * A call that was not passed the transaction would go to the pool, and stay when the handler is undone. So the instance
 * gives no connection to what a handler calls. Where CLS is on, the handler runs in it, and every call has the
 * transaction.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { refuseConnections } from './refuse-connections.ts'
import { LentSqlite3 } from './sequelize-sqlite.ts'
import { lendTransactions } from './sequelize-transaction.ts'
import type { SequelizeTransaction, TransactionClass } from './sequelize-transaction.ts'

/** An instance of Sequelize, as far as it is used here. */
export interface SequelizeInstance {
  transaction(options?: never): Promise<unknown>
  authenticate(): Promise<void>
  getDialect(): string
}

/** What Sequelize gives to the function of `sequelize.transaction`: its `Transaction`. */
export type SequelizeTx<Instance extends SequelizeInstance> = Awaited<
  ReturnType<Instance['transaction']>
>

/**
 * Sequelize on the transaction of a handler: `postgresStore({ pool, tx: sequelizeTx(sequelize) })`, and the same for
 * `sqliteStore` with an instance for SQLite.
 *
 * @throws OptionInvalidError for what is no instance of Sequelize for PostgreSQL or SQLite
 */
export function sequelizeTx<Instance extends SequelizeInstance>(
  sequelize: Instance,
): TxBinding<PostgresTx | SqliteTx, SequelizeTx<Instance>> {
  const instance = requireSequelize(sequelize)
  const engine = requireEngine(instance)
  const lend = lendTransactions(instance, classOf(instance).Transaction)
  const lent = new WeakMap<PostgresTx | SqliteTx, SequelizeTransaction>()
  const bind = (sql: PostgresTx | SqliteTx): SequelizeTransaction => {
    const known = lent.get(sql)
    if (known !== undefined) return known
    const made = lend(() =>
      engine === 'postgres'
        ? asPgClient(sql as PostgresTx, readingAs(instance))
        : new LentSqlite3(sql as SqliteTx),
    )
    lent.set(sql, made)
    return made
  }
  return Object.freeze({
    engine,
    load: async () => {
      if (engine === 'sqlite') return refuseOwnConnections(instance)
      // Its first connection tells it the numbers of types, without which it reads lists of enums as texts.
      await sequelize.authenticate()
      refusePooled(instance)
    },
    bind: (sql: PostgresTx | SqliteTx) => bind(sql) as SequelizeTx<Instance>,
    run: <Result>(sql: PostgresTx | SqliteTx, work: () => Promise<Result>) =>
      runWatched(instance, () => runInCls(instance, () => bind(sql), work)),
  })
}

/** The rest of an instance, which its types keep to themselves or leave open. */
interface UsedSequelize extends SequelizeInstance {
  readonly connectionManager: {
    getTypeParser(oid: number, format?: string): never
    getConnection(options?: object): Promise<unknown>
  }
  addHook(hook: string, name: string, fn: () => void): unknown
  removeHook(hook: string, name: string): unknown
}

/** The class `Sequelize`, or one that extends it. */
interface SequelizeClass {
  readonly Transaction: TransactionClass
  /** What was given to `Sequelize.useCLS`. */
  readonly _cls?: {
    run(work: () => void): unknown
    set(key: string, value: unknown): unknown
  }
}

function classOf(sequelize: object): SequelizeClass {
  return sequelize.constructor as unknown as SequelizeClass
}

function requireSequelize(sequelize: unknown): UsedSequelize {
  refuseConnections('sequelizeTx', sequelize, 'your instance: sequelizeTx(sequelize)')
  const given = sequelize as Partial<UsedSequelize> | null | undefined
  if (typeof given?.getDialect !== 'function' || classOf(given).Transaction === undefined) {
    const wanted = 'an instance of Sequelize 6, as in sequelizeTx(sequelize)'
    throw new OptionInvalidError('sequelizeTx', wanted, sequelize)
  }
  return given as UsedSequelize
}

function requireEngine(sequelize: UsedSequelize): Engine {
  const dialect = sequelize.getDialect()
  if (dialect === 'postgres' || dialect === 'sqlite') return dialect
  const wanted = "an instance with dialect: 'postgres' or 'sqlite'"
  throw new OptionInvalidError('sequelizeTx', wanted, dialect)
}

/** Its own connections are told so when they are made. */
function readingAs({ connectionManager }: UsedSequelize) {
  return {
    getTypeParser: (oid: number, format?: string) => connectionManager.getTypeParser(oid, format),
  }
}

/** A handler that runs, as what it calls finds it. */
interface Running {
  readonly sequelize: object
  isOver: boolean
}

const running = new AsyncLocalStorage<Running>()

async function runWatched<Result>(sequelize: object, work: () => Promise<Result>): Promise<Result> {
  const handler: Running = { sequelize, isOver: false }
  try {
    return await running.run(handler, work)
  } finally {
    // What a handler has started for good, such as a timer, finds it as well.
    handler.isOver = true
  }
}

const HOOK = 'beforePoolAcquire'
const HOOK_NAME = 'hookonce'

/** Sequelize asks its pool for a connection where a call has no transaction. */
function refusePooled(sequelize: UsedSequelize): void {
  // Once for each instance, however many stores it has.
  sequelize.removeHook(HOOK, HOOK_NAME)
  sequelize.addHook(HOOK, HOOK_NAME, () => refuseIn(sequelize))
}

const refusing = new WeakSet<object>()

/** For SQLite it has no pool, and no hook there. */
function refuseOwnConnections(sequelize: UsedSequelize): void {
  const { connectionManager } = sequelize
  if (refusing.has(connectionManager)) return
  refusing.add(connectionManager)
  const connect = connectionManager.getConnection.bind(connectionManager)
  connectionManager.getConnection = async (options) => {
    refuseIn(sequelize)
    return connect(options)
  }
}

/** @throws HookonceError in a handler that was lent a transaction of this instance */
function refuseIn(sequelize: object): void {
  const handler = running.getStore()
  if (handler?.sequelize !== sequelize || handler.isOver) return
  throw new HookonceError(
    'TRANSACTION_EXPECTED',
    'A call of Sequelize in a handler has no transaction, and would stay when the handler is undone. Pass { transaction: tx }, to sequelize.transaction as well',
  )
}

/** As `sequelize.transaction(work)` does it. */
function runInCls<Result>(
  sequelize: object,
  tx: () => SequelizeTransaction,
  work: () => Promise<Result>,
): Promise<Result> {
  const { _cls: cls } = classOf(sequelize)
  if (cls === undefined) return work()
  return new Promise((resolve) => {
    cls.run(() => {
      cls.set('transaction', tx())
      resolve(work())
    })
  })
}
