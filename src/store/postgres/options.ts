import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireOneOf } from '../../options/require-one-of.ts'
import { requireTxBinding } from '../contract/tx-binding.ts'
import type { TxBinding } from '../contract/tx-binding.ts'
import { resolveEncryption } from '../shared/encryption/encryption-options.ts'
import type {
  EncryptionOptions,
  ResolvedEncryption,
} from '../shared/encryption/encryption-options.ts'
import type { PgPool } from './driver.ts'
import type { PostgresTx } from './tx.ts'

/** Which database, and how its tables are kept. */
export interface PostgresStoreOptions<Tx = PostgresTx> {
  /**
   * A `pg.Pool` of yours. The store never ends it.
   *
   * Each running group of handlers holds one connection; beside them the store keeps one for its
   * heartbeat and one for LISTEN, and uses up to three while events arrive.
   */
  readonly pool: PgPool
  /**
   * The schema that holds the tables.
   *
   * @defaultValue 'hookonce'
   */
  readonly schema?: string
  /**
   * Whether opening the store brings the schema up to date, or only checks that it is.
   *
   * @defaultValue 'auto'
   */
  readonly migrate?: 'auto' | 'check'
  /**
   * Whether to run on a server with `fsync` or `full_page_writes` off, where a crash of the machine
   * may lose what was answered with a success. For tests.
   *
   * @defaultValue false
   */
  readonly allowUnsafe?: boolean
  /**
   * What handlers get as `tx`: a library of yours on the transaction, such as `drizzleTx({ schema })` or `kyselyTx()`.
   * Left out, it is a `PostgresTx`, which handlers have as `sql` either way.
   */
  readonly tx?: TxBinding<PostgresTx, Tx>
  /**
   * Encrypts bodies, headers, results and what errors say before they are stored. Left out, they are stored as they
   * are, and a database that others encrypt is refused.
   */
  readonly encryption?: EncryptionOptions
}

export interface ResolvedPostgresStoreOptions<Tx = unknown> extends Readonly<
  Required<Omit<PostgresStoreOptions, 'tx' | 'encryption'>>
> {
  readonly tx: TxBinding<PostgresTx, Tx> | undefined
  readonly encryption: ResolvedEncryption | undefined
}

export const POSTGRES_STORE_DEFAULTS = Object.freeze({
  schema: 'hookonce',
  migrate: 'auto',
  allowUnsafe: false,
} as const)

export function resolvePostgresStoreOptions<Tx = PostgresTx>(
  options: PostgresStoreOptions<Tx>,
): ResolvedPostgresStoreOptions<Tx> {
  if (typeof options !== 'object' || options === null) {
    throw new OptionInvalidError('postgresStore', 'given an object such as { pool }', options)
  }
  rejectUnknownKeys('postgresStore', options, [
    'pool',
    'schema',
    'migrate',
    'allowUnsafe',
    'tx',
    'encryption',
  ])
  const resolved = Object.freeze({
    ...POSTGRES_STORE_DEFAULTS,
    tx: undefined,
    ...options,
    encryption: resolveEncryption('postgresStore.encryption', options.encryption),
  })
  const { pool, schema, migrate, allowUnsafe, tx } = resolved
  requirePool(pool)
  requireSchema(schema)
  requireOneOf('postgresStore.migrate', migrate, ['auto', 'check'])
  requireOneOf('postgresStore.allowUnsafe', allowUnsafe, [true, false])
  requireTxBinding('postgresStore.tx', 'postgres', tx)
  return resolved
}

/** Lower case only, so that the name is the same quoted and unquoted. */
export function requireSchema(schema: unknown): asserts schema is string {
  if (typeof schema === 'string' && /^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return
  throw new OptionInvalidError(
    'postgresStore.schema',
    'a lower-case name of at most 63 letters, digits and _',
    schema,
  )
}

function requirePool(pool: unknown): void {
  const isObject = typeof pool === 'object' && pool !== null
  const canQuery = isObject && 'query' in pool && typeof pool.query === 'function'
  const canConnect = isObject && 'connect' in pool && typeof pool.connect === 'function'
  // A single client has these; it would run every handler in one and the same transaction.
  const isClient = isObject && ('connectionParameters' in pool || 'processID' in pool)
  if (canQuery && canConnect && !isClient) return
  throw new OptionInvalidError(
    'postgresStore.pool',
    'a Pool of pg, such as new pg.Pool({ connectionString })',
    pool,
  )
}

/** Where the database is, for messages. Never the password, which a connection string may contain. */
export function describeDatabase({ options = {} }: PgPool): string {
  const fromUrl = readUrl(options.connectionString)
  const host = fromUrl.host ?? options.host ?? process.env['PGHOST'] ?? 'localhost'
  const port = fromUrl.port ?? options.port ?? process.env['PGPORT'] ?? 5432
  const database =
    fromUrl.database ?? options.database ?? process.env['PGDATABASE'] ?? 'the default database'
  return `${database} at ${host}, port ${port}`
}

function readUrl(text: string | undefined): { host?: string; port?: string; database?: string } {
  if (text === undefined || !URL.canParse(text)) return {}
  const url = new URL(text)
  const host = url.searchParams.get('host') ?? url.hostname
  return {
    ...(host === '' ? {} : { host }),
    ...(url.port === '' ? {} : { port: url.port }),
    ...(url.pathname.length < 2 ? {} : { database: decoded(url.pathname.slice(1)) }),
  }
}

/** What is no such text, the driver has taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** One for the worker's own records, one to listen for wake-ups, one at least to store deliveries, one for all else. */
const CONNECTIONS_BESIDE_GROUPS = 4
/** A relay alone: one to listen, one for its messages, one to store deliveries. */
const CONNECTIONS_FOR_RELAY = 3

/**
 * A pool that the running groups can empty would make deliveries wait for handlers, and a handler's
 * own time-out for the connection that should cancel it.
 */
export function requirePoolSize(pool: PgPool, groups: number): void {
  const max = pool.options?.max
  const needed = groups === 0 ? CONNECTIONS_FOR_RELAY : groups + CONNECTIONS_BESIDE_GROUPS
  if (max === undefined || max === null || max >= needed) return
  const purpose =
    groups === 0
      ? 'to send messages'
      : `for ${groups} groups at once, which is worker.concurrency and worker.reserved together`
  throw new OptionInvalidError(
    'postgresStore.pool',
    `a pool of at least ${needed} connections ${purpose} (its max is ${max})`,
    max,
  )
}
