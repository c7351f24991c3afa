/**
 * `hookonce/sqlite`: the store on one SQLite file.
 *
 * @module
 */

import { SqliteStore } from './store.ts'
import type { SqliteStoreOptions } from './options.ts'
import type { SqliteTx } from './tx.ts'

/**
 * A store on a SQLite file, which is made if it is not there. Your own tables may live in the same
 * file: a handler reaches them through `ctx.tx`, so that its writes and the event's completion commit
 * together. Nothing is opened before the inbox starts: that rejects with `STORE_UNAVAILABLE`, `STORE_UNSAFE`,
 * `DRIVER_MISSING` or one of the `SCHEMA_` codes when the file cannot be used.
 *
 * @throws OptionInvalidError for a file that is no path of one, and an option that is unknown or cannot be used
 */
export function sqliteStore<Tx = SqliteTx>(
  file: string,
  options: SqliteStoreOptions<Tx> = {},
): SqliteStore<Tx> {
  return new SqliteStore(file, options)
}

export type { TxBinding } from '../contract/tx-binding.ts'
export { printMigrations } from './migrate.ts'
export type { SqliteStore } from './store.ts'
export type { SqliteColumn } from './driver.ts'
export type { SqliteTx, SqliteTxQueryOptions, SqliteTxResult } from './tx.ts'
export type { SqliteStoreOptions } from './options.ts'
export type { EncryptionKey, EncryptionOptions } from '../shared/encryption/encryption-options.ts'
