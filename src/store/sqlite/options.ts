import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../../options/require-integer.ts'
import { requireOneOf } from '../../options/require-one-of.ts'
import { requireTxBinding } from '../contract/tx-binding.ts'
import type { TxBinding } from '../contract/tx-binding.ts'
import { resolveEncryption } from '../shared/encryption/encryption-options.ts'
import type {
  EncryptionOptions,
  ResolvedEncryption,
} from '../shared/encryption/encryption-options.ts'
import type { SqliteDriverName } from './open-driver.ts'
import type { SqliteTx } from './tx.ts'

/** How the file is opened, and how its tables are kept. */
export interface SqliteStoreOptions<Tx = SqliteTx> {
  /**
   * Whether `open` brings the schema up to date, or only checks that it is and refuses to start otherwise.
   *
   * @defaultValue 'auto'
   */
  readonly migrate?: 'auto' | 'check'
  /**
   * What the names of our tables begin with.
   *
   * @defaultValue 'hookonce_'
   */
  readonly prefix?: string
  /**
   * Which binding to use. `auto` takes the one built into Node where there is one, else `libsql`.
   *
   * @defaultValue 'auto'
   */
  readonly driver?: SqliteDriverName
  /** A folder in whose `node_modules` `libsql` is looked for too, where it is not beside this package. Left out, none. */
  readonly libsqlFolder?: string
  /**
   * How long a write other than a delivery waits for the one writer that SQLite has. It bounds the
   * wait behind another transaction, not how long a handler may run.
   *
   * @defaultValue 5_000
   */
  readonly writeWaitMs?: number
  /**
   * What handlers get as `tx`: a library of yours on the transaction, such as `drizzleTx({ schema })` or `kyselyTx()`.
   * Left out, it is a `SqliteTx`, which handlers have as `sql` either way.
   */
  readonly tx?: TxBinding<SqliteTx, Tx>
  /**
   * Encrypts bodies, headers, results and what errors say before they are stored. Left out, they are stored as they
   * are, and a database that others encrypt is refused.
   */
  readonly encryption?: EncryptionOptions
}

export interface ResolvedSqliteStoreOptions<Tx = unknown> extends Readonly<
  Required<Omit<SqliteStoreOptions, 'tx' | 'libsqlFolder' | 'encryption'>>
> {
  readonly libsqlFolder: string | undefined
  readonly tx: TxBinding<SqliteTx, Tx> | undefined
  readonly encryption: ResolvedEncryption | undefined
}

export const SQLITE_STORE_DEFAULTS = Object.freeze({
  migrate: 'auto',
  prefix: 'hookonce_',
  driver: 'auto',
  writeWaitMs: 5_000,
} as const)

export function resolveSqliteStoreOptions<Tx = SqliteTx>(
  options: SqliteStoreOptions<Tx>,
): ResolvedSqliteStoreOptions<Tx> {
  rejectUnknownKeys('sqliteStore', options, [
    ...Object.keys(SQLITE_STORE_DEFAULTS),
    'libsqlFolder',
    'tx',
    'encryption',
  ])
  const resolved = Object.freeze({
    ...SQLITE_STORE_DEFAULTS,
    libsqlFolder: undefined,
    tx: undefined,
    ...options,
    encryption: resolveEncryption('sqliteStore.encryption', options.encryption),
  })
  requireOneOf('sqliteStore.migrate', resolved.migrate, ['auto', 'check'])
  requireOneOf('sqliteStore.driver', resolved.driver, ['auto', 'node:sqlite', 'libsql'])
  requireInteger('sqliteStore.writeWaitMs', resolved.writeWaitMs, { min: 1, max: HOUR_MS })
  requirePrefix(resolved.prefix)
  requireFolder(resolved.libsqlFolder)
  requireTxBinding('sqliteStore.tx', 'sqlite', resolved.tx)
  return resolved
}

/**
 * A path, and nothing else: a database in memory would be a different one for each of our two
 * connections, and a URL would send libsql to a server.
 */
export function requireDatabaseFile(file: unknown): asserts file is string {
  // A NUL, where the path would end for SQLite, makes libsql end the process.
  const isPath = typeof file === 'string' && file !== '' && !file.includes('\0')
  if (isPath && file !== ':memory:' && !/^file:|:\/\//i.test(file)) return
  throw new OptionInvalidError('sqliteStore.file', 'the path of a file', file)
}

function requireFolder(folder: unknown): void {
  if (folder === undefined || (typeof folder === 'string' && folder !== '')) return
  throw new OptionInvalidError('sqliteStore.libsqlFolder', 'the path of a folder', folder)
}

/** It becomes part of SQL text, so it is a plain word. */
export function requirePrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(prefix)) return
  throw new OptionInvalidError(
    'sqliteStore.prefix',
    'up to 40 lower-case letters, digits and underscores, not beginning with a digit',
    prefix,
  )
}
