/**
 * `hookonce/typeorm`: a handler's `tx` is the `EntityManager` that TypeORM's `dataSource.transaction` gives, on
 * either store.
 *
 * On PostgreSQL a query runner of the user's own data source gets a client of `pg` that is the lent transaction
 * (`asPgClient`), on SQLite statements that are answered by it (`typeorm-sqlite.ts`). So entities, subscribers and naming
 * are those of the user. Nothing of TypeORM is imported, neither code nor types:
 * the data source brings both.
 *
 * @module
 */

import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { LentPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { refuseConnections } from './refuse-connections.ts'
import { lendSqliteRunner } from './typeorm-sqlite.ts'
import type { SqliteDataSource } from './typeorm-sqlite.ts'

/** A `DataSource` of TypeORM's, as far as it is used here. */
export interface TypeormDataSource {
  readonly isInitialized: boolean
  readonly options: { readonly type: string }
  createQueryRunner(mode?: never): { readonly manager: unknown }
}

/** What TypeORM gives to the function of `dataSource.transaction`: its `EntityManager`. */
export type TypeormTx<Source extends TypeormDataSource> = ReturnType<
  Source['createQueryRunner']
>['manager']

/**
 * TypeORM on the transaction of a handler: `postgresStore({ pool, tx: typeormTx(dataSource) })`, and the same for
 * `sqliteStore` with a data source of the type `better-sqlite3`. It is initialized before the inbox starts.
 *
 * @throws OptionInvalidError for what is no data source for PostgreSQL or SQLite
 */
export function typeormTx<Source extends TypeormDataSource>(
  dataSource: Source,
): TxBinding<PostgresTx | SqliteTx, TypeormTx<Source>> {
  const engine = requireDataSource(dataSource)
  return Object.freeze({
    engine,
    load: async () => requireInitialized(dataSource),
    bind: (sql: PostgresTx | SqliteTx) => {
      const open = (): Runner =>
        (engine === 'postgres'
          ? lendRunner(dataSource, sql as PostgresTx)
          : lendSqliteRunner(dataSource as unknown as SqliteDataSource, sql as SqliteTx)) as Runner
      return openManager(open)
    },
  })
}

/** A query runner and its manager, as far as they are used here. */
interface Runner {
  readonly manager: Manager
  readonly data: object
}

interface Manager {
  transaction(...given: unknown[]): Promise<unknown>
}

/**
 * Each transaction in it gets a query runner of its own, which is another speaker to the lent transaction. Subscribers
 * find what the handler has put into `queryRunner.data` there as well.
 */
function openManager(open: () => Runner, data?: object): Manager {
  const runner = open()
  // So that `save` opens no transaction of its own.
  Object.defineProperty(runner, 'isTransactionActive', { get: () => true, set: ignore })
  if (data !== undefined) Object.assign(runner, { data })
  const { manager } = runner
  return Object.assign(manager, {
    transaction: (...given: unknown[]) => transactionOf(openManager(open, runner.data))(...given),
  })
}

/** That of its class, in place of ours. */
function transactionOf(manager: Manager): Manager['transaction'] {
  const own = Object.getPrototypeOf(manager) as Manager
  return (...given) => own.transaction.apply(manager, given)
}

const ENGINES: Readonly<Record<string, Engine>> = {
  postgres: 'postgres',
  'better-sqlite3': 'sqlite',
}

function requireDataSource(dataSource: unknown): Engine {
  refuseConnections('typeormTx', dataSource, 'your DataSource: typeormTx(dataSource)')
  const given = dataSource as Partial<TypeormDataSource> | null | undefined
  if (typeof given?.createQueryRunner !== 'function' || typeof given.isInitialized !== 'boolean') {
    const wanted = 'a DataSource of TypeORM, as in typeormTx(dataSource)'
    throw new OptionInvalidError('typeormTx', wanted, dataSource)
  }
  const type = given.options?.type
  const engine = ENGINES[type ?? '']
  if (engine !== undefined) return engine
  const wanted = "a DataSource with type: 'postgres' or 'better-sqlite3'"
  throw new OptionInvalidError('typeormTx', wanted, type)
}

/** Its entities are read when it is initialized. To do that here could change their tables, by `synchronize`. */
function requireInitialized({ isInitialized }: TypeormDataSource): void {
  if (isInitialized) return
  throw new HookonceError(
    'OPTION_INVALID',
    'The DataSource that typeormTx was given is not initialized. Call `await dataSource.initialize()` before the inbox is started',
  )
}

function lendRunner(dataSource: TypeormDataSource, sql: PostgresTx) {
  const client: LentPgClient = asPgClient(sql)
  const runner = dataSource.createQueryRunner()
  // What it asks its pool for, when it has none.
  Object.defineProperty(runner, 'databaseConnection', { value: client })
  return runner
}

/** TypeORM says it of each transaction that it begins and ends; the one around them is open all the time. */
function ignore(): void {}
