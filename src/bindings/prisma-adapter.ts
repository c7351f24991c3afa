/**
 * A driver adapter of Prisma's whose connection is a lent transaction.
 *
 * What Prisma opens as a transaction is one that it needs for a single operation, such as a nested write: a savepoint
 * here. Savepoints are a stack, and two operations of one handler may run at once, so that one waits for the other.
 *
 * @module
 */

import type { PgResult } from '../store/postgres/driver.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { describeForPrisma } from './prisma-errors.ts'
import { findColumnType, PRISMA_TYPES, toParameter } from './prisma-values.ts'
import type { PrismaArgType } from './prisma-values.ts'

interface PrismaQuery {
  readonly sql: string
  readonly args: readonly unknown[]
  readonly argTypes: readonly PrismaArgType[]
}

export class LentPrismaAdapter {
  readonly provider = 'postgres'
  readonly adapterName = 'hookonce'
  readonly #schema: string | undefined
  #nested: PostgresTx | undefined
  #transaction: Promise<void> = Promise.resolve()

  constructor(schema: string | undefined) {
    this.#schema = schema
  }

  /** From now on statements go through this one. */
  lend(tx: PostgresTx): void {
    this.#nested = tx.asNested()
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
    const { fields, rows } = await this.#run(query)
    return {
      columnNames: fields.map(({ name }) => name),
      columnTypes: fields.map(({ dataTypeID }) => findColumnType(dataTypeID)),
      rows,
    }
  }

  async executeRaw(query: PrismaQuery): Promise<number> {
    return (await this.#run(query)).rowCount ?? 0
  }

  async executeScript(script: string): Promise<void> {
    await this.#run({ sql: script, args: [], argTypes: [] })
  }

  getConnectionInfo() {
    return {
      supportsRelationJoins: true,
      ...(this.#schema !== undefined && { schemaName: this.#schema }),
    }
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

  async #run({ sql, args, argTypes }: PrismaQuery): Promise<PgResult<unknown[]>> {
    if (this.#nested === undefined)
      throw new Error('Prisma is lent a transaction before it is used')
    const values = args.map((arg, at) => toParameter(arg, argTypes[at]))
    try {
      return await this.#nested.query<unknown[]>({
        text: sql,
        values,
        rowMode: 'array',
        types: PRISMA_TYPES,
      })
    } catch (error) {
      throw describeForPrisma(error)
    }
  }
}
