/**
 * Drivers of Kysely's whose connections are the lent transaction, and no pool: for Kysely itself on SQLite, and for
 * MikroORM 7, which speaks through a Kysely of its own.
 *
 * Of Kysely's code nothing is named here: a user of MikroORM may have no other Kysely.
 *
 * @module
 */

import type {
  CompiledQuery,
  DatabaseConnection,
  Driver,
  QueryResult,
  TransactionSettings,
} from 'kysely'
import { HookonceError } from '../errors.ts'
import { asPgClient } from '../store/postgres/lent-client.ts'
import type { PgTypeParsers } from '../store/postgres/driver.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { quoteName } from '../store/shared/quote-name.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { askSqlite } from './ask-sqlite.ts'

/** A connection that is told by words what its transactions do. */
export interface LentConnection extends DatabaseConnection {
  begin(settings: TransactionSettings): Promise<unknown>
  send(text: string): Promise<unknown>
}

/** Gives one to all, or to each its own: a transaction keeps its one, and is another speaker to the lent one. */
export function lender<Connection>(open: () => Connection, isShared: boolean): () => Connection {
  if (!isShared) return open
  const shared = open()
  return () => shared
}

export class LentKyselyDriver implements Driver {
  readonly #lend: () => LentConnection

  constructor(lend: () => LentConnection) {
    this.#lend = lend
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<LentConnection> {
    return this.#lend()
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}

  async beginTransaction(lent: LentConnection, settings: TransactionSettings): Promise<void> {
    await lent.begin(settings)
  }

  async commitTransaction(lent: LentConnection): Promise<void> {
    await lent.send('commit')
  }

  async rollbackTransaction(lent: LentConnection): Promise<void> {
    await lent.send('rollback')
  }

  async savepoint(lent: LentConnection, name: string): Promise<void> {
    await lent.send(`savepoint ${quoteName(name)}`)
  }

  async rollbackToSavepoint(lent: LentConnection, name: string): Promise<void> {
    await lent.send(`rollback to ${quoteName(name)}`)
  }

  async releaseSavepoint(lent: LentConnection, name: string): Promise<void> {
    await lent.send(`release ${quoteName(name)}`)
  }
}

/** An adapter is for one connection on SQLite, and for many with the same words on PostgreSQL. */
export function withManyConnections<Adapter extends object>(adapter: Adapter): Adapter {
  // With one connection Kysely lets no statement of `tx` pass while a nested transaction runs, and a handler that
  // waits for one there waits until its time is up. Here such a statement runs inside the savepoint.
  return Object.defineProperty(adapter, 'supportsMultipleConnections', { value: true })
}

export class LentSqliteConnection implements LentConnection {
  readonly #tx: SqliteTx

  constructor(tx: SqliteTx) {
    this.#tx = tx.asNested()
  }

  begin(): Promise<unknown> {
    return this.send('begin')
  }

  send(text: string): Promise<unknown> {
    return this.#tx.query(text)
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { rows, isWrite, changes, lastInsertRowid } = await askSqlite<Row>(
      this.#tx,
      sql,
      parameters,
    )
    if (!isWrite) return { rows }
    const numAffectedRows = BigInt(changes)
    return lastInsertRowid === undefined
      ? { rows, numAffectedRows }
      : { rows, numAffectedRows, insertId: BigInt(lastInsertRowid) }
  }

  /** All of them in one piece: SQLite has read them when the call returns. */
  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query)
  }
}

export class LentPostgresConnection implements LentConnection {
  readonly #tx: Pick<PostgresTx, 'query'>

  constructor(tx: PostgresTx, types: PgTypeParsers | undefined) {
    this.#tx = asPgClient(tx, types)
  }

  begin({ isolationLevel, accessMode }: TransactionSettings): Promise<unknown> {
    const isolation = isolationLevel === undefined ? '' : ` isolation level ${isolationLevel}`
    return this.send(`begin${isolation}${accessMode === undefined ? '' : ` ${accessMode}`}`)
  }

  send(text: string): Promise<unknown> {
    return this.#tx.query(text)
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#tx.query(sql, [...parameters])
    const found = { rows: rows as Row[] }
    return CHANGING.has(command) ? { ...found, numAffectedRows: BigInt(rowCount ?? 0) } : found
  }

  // eslint-disable-next-line require-yield -- Kysely wants one that yields, and there is nothing to yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new HookonceError(
      'OPTION_INVALID',
      'A stream is refused in a handler: it would read on after the handler has returned. Read the rows at once',
    )
  }
}

const CHANGING: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])
