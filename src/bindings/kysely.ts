/**
 * `hookonce/kysely`: a handler's `tx` is a transaction of Kysely's, on either store.
 *
 * On PostgreSQL Kysely's own dialect gets a pool of one client, which is the lent transaction (`asPgClient`). On SQLite
 * Kysely's driver is for a binding that answers at once, so it has a driver of ours beside its own compiler.
 *
 * @module
 */

import type {
  Dialect,
  Kysely,
  KyselyPlugin,
  LogConfig,
  PostgresPoolClient,
  Transaction,
} from 'kysely'
import type * as kyselyModule from 'kysely'
import { HookonceError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { asTransaction } from './kysely-transaction.ts'
import {
  lender,
  LentKyselyDriver,
  LentSqliteConnection,
  withManyConnections,
} from './lent-kysely.ts'
import { loadLibrary, requireLoaded } from './load-library.ts'
import { refuseConnections } from './refuse-connections.ts'

type Library = typeof kyselyModule

/**
 * What Kysely gives to the function of `db.transaction().execute(…)`. Unlike that one it can open transactions, which
 * are savepoints, so that code which does so can be called with it.
 *
 * It is declared here and not beside the code: a CommonJS file gets a copy of this file's declarations, with the types
 * that Kysely has for CommonJS.
 */
export type KyselyTx<Database> = Pick<Kysely<Database>, 'transaction' | 'startTransaction'> &
  Transaction<Database>

/** As for Kysely itself. */
export interface KyselyTxOptions {
  /** Plugins, such as `new CamelCasePlugin()`. Left out, there are none. */
  readonly plugins?: KyselyPlugin[]
  /** What is logged. Left out, nothing is. */
  readonly log?: LogConfig
}

/**
 * Kysely on the transaction of a handler: `postgresStore({ pool, tx: kyselyTx<Database>() })`, and the same for
 * `sqliteStore`.
 *
 * @throws OptionInvalidError for an option that is unknown, and for a database of Kysely's or a pool
 */
export function kyselyTx<Database>(
  options: KyselyTxOptions = {},
): TxBinding<PostgresTx | SqliteTx, KyselyTx<Database>> {
  refuseConnections(
    'kyselyTx',
    options,
    'its plugins, if it has any: kyselyTx<Database>({ plugins })',
  )
  rejectUnknownKeys('kyselyTx', options, ['plugins', 'log'])
  let library: Library | undefined
  return Object.freeze({
    load: async () => {
      library ??= requireTransactions(await loadLibrary('kysely', () => import('kysely')))
    },
    bind: (sql: PostgresTx | SqliteTx, engine: Engine) => {
      const kysely = requireLoaded(library)
      const open = (isShared: boolean): Kysely<Database> => {
        const dialect =
          engine === 'postgres'
            ? postgresDialect(kysely, sql as PostgresTx, isShared)
            : sqliteDialect(kysely, sql as SqliteTx, isShared)
        return new kysely.Kysely<Database>({ ...options, dialect })
      }
      return asTransaction(open(true), () => open(false)) as KyselyTx<Database>
    },
  })
}

/** @throws HookonceError with the code DRIVER_MISSING for Kysely before 0.28 */
function requireTransactions(library: Library): Library {
  if ('startTransaction' in library.Kysely.prototype) return library
  throw new HookonceError(
    'DRIVER_MISSING',
    'The kysely that is installed is too old for a tx of it: its transactions cannot be begun by hand. Run `npm install kysely@0.28`, or a later one',
  )
}

function postgresDialect(
  { PostgresDialect }: Library,
  sql: PostgresTx,
  isShared: boolean,
): Dialect {
  const lend = lender(() => asPgClient<PostgresPoolClient>(sql), isShared)
  const pool = { connect: async () => lend(), end: async () => undefined }
  return new PostgresDialect({ pool })
}

function sqliteDialect(kysely: Library, sql: SqliteTx, isShared: boolean): Dialect {
  const lend = lender(() => new LentSqliteConnection(sql), isShared)
  const adapter = withManyConnections(new kysely.SqliteAdapter())
  return {
    createAdapter: () => adapter,
    createDriver: () => new LentKyselyDriver(lend),
    createIntrospector: (db) => new kysely.SqliteIntrospector(db),
    createQueryCompiler: () => new kysely.SqliteQueryCompiler(),
  }
}
