/**
 * Only SQLite: PostgreSQL is reached through one driver.
 *
 * @module
 */

import { fromSqlValue } from './driver.ts'
import type {
  SqliteColumn,
  SqliteDriver,
  SqliteHandle,
  SqliteStatement,
  SqlRow,
  SqlValue,
} from './driver.ts'

/** The part of the binding's module that is used here. */
export type LibsqlModule = new (file: string) => LibsqlDatabase

interface LibsqlDatabase {
  readonly inTransaction: boolean
  exec(sql: string): unknown
  prepare(sql: string): LibsqlStatement
  close(): unknown
}

interface LibsqlStatement {
  readonly reader: boolean
  safeIntegers(enabled: boolean): LibsqlStatement
  /** Rows as lists. */
  raw(enabled: boolean): LibsqlStatement
  columns(): SqliteColumn[]
  run(params: readonly SqlValue[]): { changes: number }
  all(params: readonly SqlValue[]): Record<string, unknown>[]
}

/**
 * `libsql` 0.5: prebuilt for Node 20.
 *
 * Its `get` is never used: it leaves the statement half-read, and the connection then holds its
 * snapshot, and with it the next writer, until the statement is collected (measured).
 */
export function libsqlDriver(Database: LibsqlModule): SqliteDriver {
  return { name: 'libsql', open: (file) => openHandle(new Database(file)) }
}

function openHandle(database: LibsqlDatabase): SqliteHandle {
  return {
    execute: (sql) => {
      database.exec(sql)
    },
    prepare: (sql) => prepare(database, sql),
    inTransaction: () => database.inTransaction,
    close: () => {
      database.close()
    },
  }
}

function prepare(database: LibsqlDatabase, sql: string): SqliteStatement {
  const statement = database.prepare(sql)
  return {
    all: (params) => statement.all(params).map(convertRow),
    run: (params) => statement.run(params).changes,
    query: (params, isArray = false) => {
      const columns = isArray ? { columns: statement.columns() } : undefined
      if (!statement.reader)
        return { rows: [], rowCount: statement.run(params).changes, ...columns }
      const rows = statement.safeIntegers(true).raw(isArray).all(params).map(convertRow)
      return { rows, rowCount: rows.length, ...columns }
    },
  }
}

/** Blobs come as ArrayBuffer, and a row may carry `_metadata` about how long it took. */
function convertRow(row: Record<string, unknown>): SqlRow {
  if (Array.isArray(row)) return row.map(fromListed) as unknown as SqlRow
  const converted: SqlRow = {}
  for (const name of Object.keys(row)) {
    if (name !== '_metadata') converted[name] = fromSqlValue(row[name])
  }
  return converted
}

/** In a row that is a list, blobs come as Buffer. */
function fromListed(value: unknown): SqlValue {
  if (!(value instanceof Uint8Array)) return fromSqlValue(value)
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}
