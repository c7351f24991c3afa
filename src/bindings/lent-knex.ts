/**
 * Clients of Knex's that have one connection, which is the lent transaction, and no pool: for Knex itself, and for
 * MikroORM, which speaks through Knex.
 *
 * No type of Knex's is named here: MikroORM brings a Knex of its own, and its users may have no other.
 *
 * @module
 */

import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { askSqlite } from './ask-sqlite.ts'

/** A client of Knex's, as far as it is made or used here. */
export interface KnexClient {
  readonly config: { readonly [LENT]: Lending }
  transacting?: boolean
  transaction(...given: unknown[]): unknown
}

export type KnexClientClass = new (config: unknown) => KnexClient

/** An instance of Knex's, as far as it is used here. */
export interface KnexInstance {
  readonly client: unknown
}

/** What Knex calls a connection. Knex writes notes of its own on it. */
interface Lent {
  readonly tx: SqliteTx
}

/** What a client has in place of a pool. */
export interface Lending {
  /** For its statements. */
  readonly connection: object
  /** One for each transaction in it, which is another speaker to the lent one. */
  readonly open: () => object
}

export function lendConnections(open: () => object): Lending {
  return { connection: open(), open }
}

/** Where a client's configuration has its connection: what Knex makes from a client has the configuration as well. */
export const LENT = Symbol('hookonce.lent')

/** The same client, on the connection in its configuration. */
export function lentClass(dialect: KnexClientClass): KnexClientClass {
  return class LentClient extends dialect {
    acquireConnection(): Promise<object> {
      return Promise.resolve(this.config[LENT].connection)
    }

    releaseConnection(): Promise<void> {
      return Promise.resolve()
    }

    /**
     * By BEGIN, COMMIT and ROLLBACK, however deep: Knex leaves its own savepoints open when it goes back to one, which
     * looks like an await that is missing.
     */
    override transaction(...given: unknown[]): unknown {
      const { open } = this.config[LENT]
      const outside = Object.create(this, {
        transacting: { value: false },
        acquireConnection: { value: async () => open() },
      }) as LentClient
      return super.transaction.apply(outside, given)
    }
  }
}

/** What Knex asks a client to run. */
interface KnexQuery {
  readonly sql: string
  readonly bindings?: readonly unknown[]
  response?: unknown
  context?: { readonly lastID: unknown; readonly changes: number }
}

/** The same for SQLite, whose statements are run by ours. */
export function lentSqliteClass(dialect: KnexClientClass): KnexClientClass {
  return class LentSqliteClient extends lentClass(dialect) {
    async _query({ tx }: Lent, query: KnexQuery): Promise<KnexQuery> {
      if (query.sql === '') throw new Error('The query is empty')
      const values = (query.bindings ?? []).map(fromDate)
      const { rows, isReader, changes, lastInsertRowid } = await askSqlite(tx, query.sql, values)
      const context = { lastID: lastInsertRowid, changes }
      // As better-sqlite3 answers, and sqlite3, whose names differ.
      query.response = isReader ? rows : { ...context, lastInsertRowid }
      query.context = context
      return query
    }
  }
}

/** As Knex's own clients for SQLite write a time. */
function fromDate(value: unknown): unknown {
  return value instanceof Date ? value.valueOf() : value
}

/** What Knex calls a transaction, and cannot be ended: its end is that of the handler. */
export function asKnexTransaction<Instance extends KnexInstance>(
  knex: Instance,
  sql: PostgresTx | SqliteTx,
): Instance {
  // Asked by `query.transacting(tx)`, which would go on outside of the transaction without it.
  const client = knex.client as KnexClient
  client.transacting = true
  const nested: { query(text: string): Promise<unknown> } = sql.asNested()
  let refuse: (error: unknown) => void = () => undefined
  const executionPromise = new Promise<never>((_resolve, reject) => (refuse = reject))
  // It may be that no code waits for it.
  executionPromise.catch(() => undefined)
  // Both are refused there, by the name of what is wrong. Code that waits for the end hears of it as well.
  const end = (text: string): Promise<unknown> => {
    const ending = nested.query(text)
    ending.catch(refuse)
    return ending
  }
  const members = {
    isTransaction: true,
    isCompleted: () => false,
    executionPromise,
    savepoint: (work: (trx: unknown) => unknown) => {
      const opening = knex as unknown as { transaction(begun: (trx: unknown) => unknown): unknown }
      return opening.transaction(async (trx) => work(trx))
    },
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  }
  return Object.assign(knex, members)
}
