/**
 * The PostgreSQL store: production. Many receivers and workers on many machines; the database is the
 * referee. Works through a pool of `pg`, also behind PgBouncer in transaction mode.
 *
 * @module
 */

import { resolvePostgresStoreOptions, requireSchema } from './options.ts'
import type { PostgresStoreOptions } from './options.ts'
import { printMigrations as printMigrationsOf } from './migrate.ts'
import { PostgresStore } from './store.ts'
import type { PostgresTx } from './tx.ts'

export { exportMigrations } from './export-migrations.ts'
export type { ExportMigrationsOptions, MigrationFile } from './export-migrations.ts'
export { asPgClient } from './lent-client.ts'
export type { TxBinding } from '../contract/tx-binding.ts'
export type { PgPool, PgPoolClient, PgResult } from './driver.ts'
export type { PostgresTx, PostgresTxQuery } from './tx.ts'
export type { PostgresStoreOptions } from './options.ts'
export type { EncryptionKey, EncryptionOptions } from '../shared/encryption/encryption-options.ts'
export { requireTransaction } from './require-transaction.ts'
export type { Queryable } from './require-transaction.ts'
export type { PostgresStore } from './store.ts'

/**
 * Makes a store on a pool of yours. Nothing happens before it is opened, which the inbox does: that rejects with
 * `STORE_UNAVAILABLE`, `STORE_UNSAFE` or one of the `SCHEMA_` codes when the database cannot be used.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function postgresStore<Tx = PostgresTx>(
  options: PostgresStoreOptions<Tx>,
): PostgresStore<Tx> {
  return new PostgresStore(resolvePostgresStoreOptions(options))
}

/** The SQL that `migrate: 'auto'` would run on an empty database, to migrate by hand. */
export function printMigrations(schema = 'hookonce'): string {
  requireSchema(schema)
  return printMigrationsOf(`"${schema}"`)
}
