/**
 * `hookonce/prisma`: a handler's `tx` is the user's own `PrismaClient`, on either store.
 *
 * The client speaks through a driver adapter that is the lent transaction (`prisma-adapter.ts`). To make one takes 2 to
 * 10 ms of the processor's time, for its query compiler, and a view of one 0.1 ms. So a client serves one handler after
 * another, and each handler has a view of it that is refused once the handler has ended
 * (`docs/decisions/2026-11-prisma-clients-are-used-again.md`).
 *
 * @module
 */

import { HookonceError, OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { Engine, TxBinding } from '../store/contract/tx-binding.ts'
import { findLentTx as findLentPostgresTx } from '../store/postgres/lent-tx.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { rememberRefusal } from '../store/shared/refusals.ts'
import { findLentTx as findLentSqliteTx } from '../store/sqlite/lent-tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { refuseConnections } from './refuse-connections.ts'
import { LentPrismaAdapter } from './prisma-adapter.ts'
import { prismaOnPostgres } from './prisma-postgres.ts'
import { prismaOnSqlite } from './prisma-sqlite.ts'
import type { PrismaTimestampFormat } from './prisma-sqlite.ts'

export type { PrismaTimestampFormat } from './prisma-sqlite.ts'

type Sql = PostgresTx | SqliteTx

/** What only the owner of a connection may call. Prisma leaves these out of its transaction's client as well. */
type OwnersOnly = '$connect' | '$disconnect' | '$on' | '$use' | '$extends'

/**
 * A client of Prisma's as it is inside a transaction, a `Prisma.TransactionClient`. Unlike that of older versions it
 * has `$transaction`, which is a savepoint.
 */
export type PrismaTx<Client> = Omit<Client, OwnersOnly>

/** The class that `prisma generate` makes. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- its options are of its own making
export type PrismaClientClass<Client> = new (options: any) => Client

/** How the client is made. */
export interface PrismaTxOptions<Client, Extended> {
  /** What `new PrismaClient(…)` gets beside its adapter, such as `log` or `omit`. Left out, nothing. */
  readonly client?: Readonly<Record<string, unknown>>
  /** Your extensions: `(client) => client.$extends(…)`. It is called for each handler. Left out, there are none. */
  readonly extend?: (client: Client) => Extended
  /** The schema of your tables, on PostgreSQL. Left out, it is `public`, as in Prisma. */
  readonly schema?: string
  /**
   * How times are kept, on SQLite: as the adapter of your own client has it.
   *
   * @defaultValue 'iso8601'
   */
  readonly timestampFormat?: PrismaTimestampFormat
}

/**
 * Prisma on the transaction of a handler: `postgresStore({ pool, tx: prismaTx(PrismaClient) })`, and the same for
 * `sqliteStore` with a client that was generated for SQLite.
 *
 * @throws OptionInvalidError for what is no class of a client, and for an option that is unknown
 */
export function prismaTx<Client extends object, Extended extends object = Client>(
  PrismaClient: PrismaClientClass<Client>,
  options: PrismaTxOptions<Client, Extended> = {},
): TxBinding<PostgresTx | SqliteTx, PrismaTx<Extended>> {
  requireClass(PrismaClient)
  requireOptions(options)
  const made: Readonly<Record<Engine, LentClient[]>> = { postgres: [], sqlite: [] }
  const make = (engine: Engine): LentClient => {
    const client = new LentClient(PrismaClient, engine, options)
    made[engine].push(client)
    return client
  }
  return Object.freeze({
    load: async (engine: Engine) => (made[engine][0] ?? make(engine)).connect(),
    bind: (sql: PostgresTx | SqliteTx, engine: Engine) => {
      const client = made[engine].find(({ isFree }) => isFree) ?? make(engine)
      return client.lend(sql) as PrismaTx<Extended>
    },
  })
}

function requireClass(PrismaClient: unknown): void {
  if (isClientClass(PrismaClient)) return
  refuseConnections('prismaTx', PrismaClient, 'the class: prismaTx(PrismaClient)')
  throw new OptionInvalidError(
    'prismaTx',
    'given the class PrismaClient. A client has connections of its own, and what it writes would not commit with the event',
    PrismaClient,
  )
}

function isClientClass(given: unknown): boolean {
  const { prototype } = given as { readonly prototype?: Readonly<Record<string, unknown>> }
  return typeof given === 'function' && typeof prototype?.['$connect'] === 'function'
}

function requireOptions(options: object): void {
  rejectUnknownKeys('prismaTx', options, ['client', 'extend', 'schema', 'timestampFormat'])
  const { client, extend, schema, timestampFormat } = options as Record<string, unknown>
  if (timestampFormat !== undefined)
    requireOneOf('prismaTx.timestampFormat', timestampFormat, ['iso8601', 'unixepoch-ms'])
  if (client !== undefined && (typeof client !== 'object' || client === null))
    throw new OptionInvalidError('prismaTx.client', 'an object', client)
  if (typeof client === 'object' && client !== null && 'adapter' in client)
    throw new OptionInvalidError('prismaTx.client.adapter', 'left out: it is ours', client.adapter)
  if (extend !== undefined && typeof extend !== 'function')
    throw new OptionInvalidError('prismaTx.extend', 'a function', extend)
  if (schema !== undefined && typeof schema !== 'string')
    throw new OptionInvalidError('prismaTx.schema', 'the name of a schema', schema)
}

/** A client as far as it is used here. */
interface ExtendableClient {
  $connect(): Promise<void>
  $extends(extension: object): object
}

interface Operation {
  readonly args: unknown
  readonly query: (args: unknown) => Promise<unknown>
}

/** What one handler does with a client. */
interface Use {
  readonly sql: Sql
  isOver(): boolean
  running: number
}

class LentClient {
  readonly #engine: Engine
  readonly #adapter: LentPrismaAdapter<Sql>
  readonly #client: ExtendableClient
  readonly #extend: (client: never) => object
  #use: Use | undefined

  constructor(
    PrismaClient: PrismaClientClass<object>,
    engine: Engine,
    { client, extend, schema, timestampFormat = 'iso8601' }: PrismaTxOptions<never, object>,
  ) {
    this.#engine = engine
    const spoken =
      engine === 'postgres' ? prismaOnPostgres(schema) : prismaOnSqlite(timestampFormat)
    this.#adapter = new LentPrismaAdapter<Sql>(spoken)
    this.#client = new PrismaClient({ ...client, adapter: this.#adapter }) as ExtendableClient
    this.#extend = extend ?? ((given: never): object => given)
  }

  async connect(): Promise<void> {
    await this.#client.$connect()
  }

  /** Not while an operation of a handler that has ended is on its way: it would reach the next one's transaction. */
  get isFree(): boolean {
    const use = this.#use
    return use === undefined || (use.isOver() && use.running === 0)
  }

  lend(sql: Sql): object {
    const lent = this.#engine === 'postgres' ? findLentPostgresTx(sql) : findLentSqliteTx(sql)
    const use: Use = { sql, isOver: () => lent?.isRevoked ?? false, running: 0 }
    this.#use = use
    this.#adapter.lend(sql)
    const view = this.#client.$extends({
      query: { $allOperations: async (operation: Operation) => this.#run(use, operation) },
      client: {
        $transaction: async (work: unknown, options?: TransactionOptions) =>
          this.#transact(use, () => extended, work, options),
        $connect: refuse('$connect'),
        $disconnect: refuse('$disconnect'),
      },
    })
    const extended = this.#extend(view as never)
    return extended
  }

  /** Prisma does nothing before it is waited for, which may be when the client serves another handler. */
  async #run(use: Use, { args, query }: Operation): Promise<unknown> {
    if (this.#use !== use) return refuseLate(use)
    use.running += 1
    try {
      return await query(args)
    } finally {
      use.running -= 1
    }
  }

  /** By our savepoint, and not by a transaction of Prisma's: that one has a time limit of its own, 5 s. */
  async #transact(
    use: Use,
    findTx: () => object,
    work: unknown,
    options: TransactionOptions = {},
  ): Promise<unknown> {
    requireIsolation(options.isolationLevel, this.#engine)
    if (this.#use !== use) return refuseLate(use)
    await this.#adapter.untilIdle()
    // The savepoints of both are the same to the caller.
    return (use.sql as PostgresTx).savepoint(async () => {
      if (typeof work === 'function') return (work as (tx: object) => unknown)(findTx())
      const results: unknown[] = []
      for (const operation of work as readonly unknown[]) results.push(await operation)
      return results
    })
  }
}

interface TransactionOptions {
  readonly isolationLevel?: string
}

/** What a lent transaction is anyway. */
const ISOLATION: Readonly<Record<Engine, readonly string[]>> = {
  postgres: ['ReadCommitted', 'ReadUncommitted'],
  sqlite: ['Serializable'],
}

function requireIsolation(level: string | undefined, engine: Engine): void {
  if (level === undefined || ISOLATION[engine].includes(level)) return
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    `A handler's transaction is opened and ended by hookonce: the isolation level ${level} is refused`,
  )
}

/** By the transaction itself, which knows what to say. */
async function refuseLate({ sql }: Use): Promise<never> {
  await sql.query('select')
  throw new Error('A transaction that is over takes no statements')
}

function refuse(name: string) {
  return rememberRefusal(async (): Promise<never> => {
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `A handler's transaction is opened and ended by hookonce: ${name} is refused`,
    )
  })
}
