/**
 * Only SQLite: PostgreSQL is reached through one driver.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import { fromSqlValue } from './driver.ts'
import type {
  SqliteColumn,
  SqliteDriver,
  SqliteHandle,
  SqliteStatement,
  SqlRow,
  SqlValue,
} from './driver.ts'

/** The part of `node:sqlite` that is used here. Declared by hand, since Node 20's types do not have it. */
export interface NodeSqliteModule {
  readonly DatabaseSync: new (file: string) => NodeDatabase
}

interface NodeDatabase {
  /** Since 22.16. */
  readonly isTransaction?: boolean
  exec(sql: string): void
  prepare(sql: string): NodeStatement
  close(): void
}

interface NodeStatement {
  setReadBigInts(enabled: boolean): void
  /** Since 22.16. */
  setReturnArrays?(enabled: boolean): void
  /** Since 22.16. */
  columns?(): SqliteColumn[]
  run(...params: unknown[]): { changes: number | bigint }
  all(...params: unknown[]): Record<string, unknown>[]
}

/** The binding that is built into Node from 22.13 on, and the faster of the two. */
export function nodeSqliteDriver({ DatabaseSync }: NodeSqliteModule): SqliteDriver {
  return { name: 'node:sqlite', open: (file) => openHandle(new DatabaseSync(file)) }
}

function openHandle(database: NodeDatabase): SqliteHandle {
  const totalChanges = database.prepare('select total_changes() as total, changes() as latest')
  return {
    execute: (sql) => {
      database.exec(sql)
    },
    prepare: (sql) => prepare(database, sql, totalChanges),
    inTransaction: () => database.isTransaction ?? probeTransaction(database),
    close: () => {
      database.close()
    },
  }
}

/** SQLite refuses a BEGIN inside a transaction, which tells where Node is too old to. */
function probeTransaction(database: NodeDatabase): boolean {
  try {
    database.exec('begin')
  } catch {
    return true
  }
  database.exec('rollback')
  return false
}

function prepare(
  database: NodeDatabase,
  sql: string,
  totalChanges: NodeStatement,
): SqliteStatement {
  const statement = database.prepare(sql)
  return {
    all: (params) => statement.all(...bindable(sql, params)).map(convertRow),
    run: (params) => Number(statement.run(...bindable(sql, params)).changes),
    query: (params, isArray = false) => {
      returnArrays(statement, isArray)
      const before = totalChanges.all()[0]
      statement.setReadBigInts(true)
      const rows = statement.all(...bindable(sql, params)).map(convertRow)
      const columns = isArray ? { columns: statement.columns?.() ?? [] } : undefined
      if (rows.length > 0) return { rows, rowCount: rows.length, ...columns }
      // `changes()` keeps the count of the latest write, so it means this one only if the total moved.
      const after = totalChanges.all()[0]
      return {
        rows,
        rowCount: before?.['total'] === after?.['total'] ? 0 : Number(after?.['latest']),
        ...columns,
      }
    },
  }
}

function returnArrays(statement: NodeStatement, isArray: boolean): void {
  if (statement.setReturnArrays !== undefined) statement.setReturnArrays(isArray)
  else if (isArray)
    throw new HookonceError(
      'DRIVER_MISSING',
      'Rows as lists need Node 22.16 or later, or libsql: run `npm install libsql`, and give sqliteStore driver: "libsql"',
    )
}

/**
 * Numbered parameters go by name: before Node learned better, `?1` counted as a named parameter,
 * and a list skipped it.
 */
function bindable(sql: string, params: readonly SqlValue[]): readonly unknown[] {
  if (params.length === 0 || !/\?\d/.test(sql)) return params
  return [Object.fromEntries(params.map((value, index) => [`?${index + 1}`, value]))]
}

/** A fresh object, since rows come without a prototype. */
function convertRow(row: Record<string, unknown>): SqlRow {
  if (Array.isArray(row)) return row.map(fromSqlValue) as unknown as SqlRow
  const converted: SqlRow = {}
  for (const name of Object.keys(row)) converted[name] = fromSqlValue(row[name])
  return converted
}
