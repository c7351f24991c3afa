/**
 * `hookonce/typeorm`: a handler's `tx` is the `EntityManager` that TypeORM's `dataSource.transaction` gives, on
 * PostgreSQL.
 *
 * A query runner of the user's own data source gets a client of `pg` that is the lent transaction (`asPgClient`), so
 * that entities, subscribers and naming are those of the user. Nothing of TypeORM is imported, neither code nor types:
 * the data source brings both.
 *
 * @module
 */

import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { TxBinding } from '../store/contract/tx-binding.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { LentPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'

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
 * TypeORM on the transaction of a handler: `postgresStore({ pool, tx: typeormTx(dataSource) })`. The data source is
 * initialized before the inbox starts.
 *
 * @throws OptionInvalidError for what is no data source for PostgreSQL
 */
export function typeormTx<Source extends TypeormDataSource>(
  dataSource: Source,
): TxBinding<PostgresTx, TypeormTx<Source>> {
  requireDataSource(dataSource)
  return Object.freeze({
    engine: 'postgres' as const,
    load: async () => requireInitialized(dataSource),
    bind: (sql: PostgresTx) => lendManager(dataSource, sql),
  })
}

function requireDataSource(dataSource: unknown): void {
  const given = dataSource as Partial<TypeormDataSource> | null | undefined
  if (typeof given?.createQueryRunner !== 'function' || typeof given.isInitialized !== 'boolean') {
    const wanted = 'a DataSource of TypeORM, as in typeormTx(dataSource)'
    throw new OptionInvalidError('typeormTx', wanted, dataSource)
  }
  const type = given.options?.type
  if (type === 'postgres') return
  throw new OptionInvalidError('typeormTx', "a DataSource with type: 'postgres'", type)
}

/** Its entities are read when it is initialized. To do that here could change their tables, by `synchronize`. */
function requireInitialized({ isInitialized }: TypeormDataSource): void {
  if (isInitialized) return
  throw new HookonceError(
    'OPTION_INVALID',
    'The DataSource that typeormTx was given is not initialized. Call `await dataSource.initialize()` before the inbox is started',
  )
}

function lendManager<Source extends TypeormDataSource>(
  dataSource: Source,
  sql: PostgresTx,
): TypeormTx<Source> {
  const client: LentPgClient = asPgClient(sql)
  const runner = dataSource.createQueryRunner()
  Object.defineProperties(runner, {
    // What it asks its pool for, when it has none.
    databaseConnection: { value: client },
    // So that `save` opens no transaction of its own.
    isTransactionActive: { get: () => true, set: ignore },
  })
  return runner.manager
}

/** TypeORM says it of each transaction that it begins and ends; the one around them is open all the time. */
function ignore(): void {}
