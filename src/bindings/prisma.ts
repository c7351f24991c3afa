/**
 * `hookonce/prisma`: a handler's `tx` is the user's own `PrismaClient`, on PostgreSQL.
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
import type { TxBinding } from '../store/contract/tx-binding.ts'
import { findLentTx } from '../store/postgres/lent-tx.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { LentPrismaAdapter } from './prisma-adapter.ts'

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
  /** The schema of your tables. Left out, it is `public`, as in Prisma. */
  readonly schema?: string
}

/**
 * Prisma on the transaction of a handler: `postgresStore({ pool, tx: prismaTx(PrismaClient) })`.
 *
 * @throws OptionInvalidError for what is no class of a client, and for an option that is unknown
 */
export function prismaTx<Client extends object, Extended extends object = Client>(
  PrismaClient: PrismaClientClass<Client>,
  options: PrismaTxOptions<Client, Extended> = {},
): TxBinding<PostgresTx, PrismaTx<Extended>> {
  requireClass(PrismaClient)
  requireOptions(options)
  const clients: LentClient[] = []
  const make = (): LentClient => {
    const made = new LentClient(PrismaClient, options)
    clients.push(made)
    return made
  }
  return Object.freeze({
    engine: 'postgres' as const,
    load: async () => (clients[0] ?? make()).connect(),
    bind: (sql: PostgresTx) => {
      const client = clients.find(({ isFree }) => isFree) ?? make()
      return client.lend(sql) as PrismaTx<Extended>
    },
  })
}

function requireClass(PrismaClient: unknown): void {
  if (typeof PrismaClient === 'function') return
  throw new OptionInvalidError(
    'prismaTx',
    'given the class PrismaClient. A client has connections of its own, and what it writes would not commit with the event',
    PrismaClient,
  )
}

function requireOptions(options: object): void {
  rejectUnknownKeys('prismaTx', options, ['client', 'extend', 'schema'])
  const { client, extend, schema } = options as Record<string, unknown>
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
  readonly sql: PostgresTx
  isOver(): boolean
  running: number
}

class LentClient {
  readonly #adapter: LentPrismaAdapter
  readonly #client: ExtendableClient
  readonly #extend: (client: never) => object
  #use: Use | undefined

  constructor(
    PrismaClient: PrismaClientClass<object>,
    { client, extend, schema }: PrismaTxOptions<never, object>,
  ) {
    this.#adapter = new LentPrismaAdapter(schema)
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

  lend(sql: PostgresTx): object {
    const lent = findLentTx(sql)
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
    requireIsolation(options.isolationLevel)
    if (this.#use !== use) return refuseLate(use)
    await this.#adapter.untilIdle()
    return use.sql.savepoint(async () => {
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

function requireIsolation(level: string | undefined): void {
  if (level === undefined || level === 'ReadCommitted' || level === 'ReadUncommitted') return
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
  return async (): Promise<never> => {
    throw new HookonceError(
      'TRANSACTION_CONTROL',
      `A handler's transaction is opened and ended by hookonce: ${name} is refused`,
    )
  }
}
