/**
 * A driver adapter of Prisma's whose connection is a lent transaction.
 *
 * What Prisma opens as a transaction is one that it needs for a single operation, such as a nested write: a savepoint
 * here. Savepoints are a stack, and two operations of one handler may run at once, so that one waits for the other.
 *
 * @module
 */

/** What Prisma says of a parameter. */
export interface PrismaArgType {
  readonly scalarType?: string
  readonly dbType?: string
  readonly arity?: string
}

export interface PrismaQuery {
  readonly sql: string
  readonly args: readonly unknown[]
  readonly argTypes: readonly PrismaArgType[]
}

/** What Prisma reads of an answer, and how many rows were changed. */
export interface PrismaAnswer {
  readonly columnNames: readonly string[]
  readonly columnTypes: readonly number[]
  readonly rows: readonly (readonly unknown[])[]
  readonly changed: number
}

/** What differs from one engine to the other. */
export interface PrismaEngine<Sql> {
  /** As the schema of the user's client says it. */
  readonly provider: 'postgres' | 'sqlite'
  readonly connectionInfo: object
  /** A way to run statements on this transaction, which throws errors as Prisma's own adapters do. */
  open(sql: Sql): (query: PrismaQuery) => Promise<PrismaAnswer>
}

export class LentPrismaAdapter<Sql> {
  readonly provider: string
  readonly adapterName = 'hookonce'
  readonly #engine: PrismaEngine<Sql>
  #ask: ((query: PrismaQuery) => Promise<PrismaAnswer>) | undefined
  #transaction: Promise<void> = Promise.resolve()

  constructor(engine: PrismaEngine<Sql>) {
    this.#engine = engine
    this.provider = engine.provider
  }

  /** From now on statements go through this one. */
  lend(sql: Sql): void {
    this.#ask = this.#engine.open(sql)
  }

  /** Resolves when none of Prisma's own transactions is open. */
  async untilIdle(): Promise<void> {
    await this.#transaction
  }

  /** The adapter is its own factory: there is nothing to connect. */
  async connect(): Promise<this> {
    return this
  }

  async queryRaw(query: PrismaQuery) {
    const { columnNames, columnTypes, rows } = await this.#run(query)
    return { columnNames, columnTypes, rows }
  }

  async executeRaw(query: PrismaQuery): Promise<number> {
    return (await this.#run(query)).changed
  }

  async executeScript(script: string): Promise<void> {
    await this.#run({ sql: script, args: [], argTypes: [] })
  }

  getConnectionInfo() {
    return this.#engine.connectionInfo
  }

  async dispose(): Promise<void> {}

  /** One after the other. Prisma sends COMMIT or ROLLBACK as a statement, and calls these when it is answered. */
  async startTransaction(isolationLevel?: string) {
    const before = this.#transaction
    let end = (): void => undefined
    this.#transaction = new Promise((resolve) => (end = resolve))
    await before
    try {
      const level = isolationLevel === undefined ? '' : ` isolation level ${isolationLevel}`
      await this.executeRaw({ sql: `begin${level}`, args: [], argTypes: [] })
    } catch (error) {
      end()
      throw error
    }
    return {
      provider: this.provider,
      adapterName: this.adapterName,
      options: { usePhantomQuery: false },
      queryRaw: async (query: PrismaQuery) => this.queryRaw(query),
      executeRaw: async (query: PrismaQuery) => this.executeRaw(query),
      commit: async () => end(),
      rollback: async () => end(),
    }
  }

  async #run(query: PrismaQuery): Promise<PrismaAnswer> {
    if (this.#ask === undefined) throw new Error('Prisma is lent a transaction before it is used')
    return this.#ask(query)
  }
}

/** What Prisma knows by its name, and not by its class. */
export class DriverAdapterError extends Error {
  override readonly name = 'DriverAdapterError'
  override readonly cause: object

  constructor(cause: object, message: string) {
    super(message)
    this.cause = cause
  }
}
