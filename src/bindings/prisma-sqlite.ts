/**
 * Prisma's statements on a lent transaction of SQLite, with values and errors as Prisma's own adapters for SQLite have
 * them: what one of those has written, a handler reads, and the other way round.
 *
 * SQLite keeps no types with its values. So a value is read by the type that its column is declared with, and one of an
 * expression by what it is.
 *
 * @module
 */

import type { SqliteTx, SqliteTxResult } from '../store/sqlite/tx.ts'
import { DriverAdapterError } from './prisma-adapter.ts'
import type { PrismaAnswer, PrismaArgType, PrismaEngine } from './prisma-adapter.ts'
import { COLUMN } from './prisma-columns.ts'
import { findSqliteCode } from './sqlite-errors.ts'

/** How a time is kept: as text in UTC, or as milliseconds since 1970. */
export type PrismaTimestampFormat = 'iso8601' | 'unixepoch-ms'

export function prismaOnSqlite(times: PrismaTimestampFormat): PrismaEngine<SqliteTx> {
  return {
    provider: 'sqlite',
    connectionInfo: { supportsRelationJoins: false },
    open: (sql) => {
      const nested = sql.asNested()
      return async ({ sql: text, args, argTypes }) => {
        const values = args.map((arg, at) => toParameter(arg, argTypes[at], times))
        try {
          return readAnswer(await nested.query<unknown[]>(text, values, { rowMode: 'array' }))
        } catch (error) {
          throw describeForPrisma(error)
        }
      }
    },
  }
}

/** Prisma gives numbers and times as text where JavaScript could not hold them. */
function toParameter(
  value: unknown,
  type: PrismaArgType | undefined,
  times: PrismaTimestampFormat,
): unknown {
  if (value instanceof Date) return formatTime(value, times)
  if (typeof value !== 'string') return value
  switch (type?.scalarType) {
    case 'int':
    case 'bigint':
      return BigInt(value)
    case 'float':
    case 'decimal':
      return Number(value)
    case 'datetime':
      return formatTime(new Date(value), times)
    case 'bytes':
      return Buffer.from(value, 'base64')
    default:
      return value
  }
}

function formatTime(time: Date, times: PrismaTimestampFormat): string | number {
  return times === 'unixepoch-ms' ? time.valueOf() : time.toISOString().replace('Z', '+00:00')
}

function readAnswer({ rows, rowCount, columns = [] }: SqliteTxResult<unknown[]>): PrismaAnswer {
  const columnTypes = columns.map(({ type }, at) => findDeclared(type) ?? findByValue(rows, at))
  return {
    columnNames: columns.map(({ name }) => name),
    columnTypes,
    rows: rows.map((row) => row.map((value, at) => readValue(value, columnTypes[at]))),
    changed: rowCount,
  }
}

/** As Prisma's migrations declare columns, and as others do. */
const DECLARED: Readonly<Record<string, number>> = {
  DECIMAL: COLUMN.numeric,
  FLOAT: COLUMN.float,
  DOUBLE: COLUMN.double,
  'DOUBLE PRECISION': COLUMN.double,
  NUMERIC: COLUMN.double,
  REAL: COLUMN.double,
  TINYINT: COLUMN.int32,
  SMALLINT: COLUMN.int32,
  MEDIUMINT: COLUMN.int32,
  INT: COLUMN.int32,
  INTEGER: COLUMN.int32,
  SERIAL: COLUMN.int32,
  INT2: COLUMN.int32,
  BIGINT: COLUMN.int64,
  'UNSIGNED BIG INT': COLUMN.int64,
  INT8: COLUMN.int64,
  DATETIME: COLUMN.dateTime,
  TIMESTAMP: COLUMN.dateTime,
  TIME: COLUMN.time,
  DATE: COLUMN.date,
  TEXT: COLUMN.text,
  CLOB: COLUMN.text,
  CHARACTER: COLUMN.text,
  VARCHAR: COLUMN.text,
  'VARYING CHARACTER': COLUMN.text,
  NCHAR: COLUMN.text,
  'NATIVE CHARACTER': COLUMN.text,
  NVARCHAR: COLUMN.text,
  BLOB: COLUMN.bytes,
  BOOLEAN: COLUMN.boolean,
  JSONB: COLUMN.json,
}

function findDeclared(type: string | null): number | undefined {
  return DECLARED[type?.toUpperCase() ?? '']
}

function findByValue(rows: readonly (readonly unknown[])[], at: number): number {
  const value = rows.find((row) => row[at] !== null)?.[at]
  if (typeof value === 'string') return COLUMN.text
  if (typeof value === 'bigint') return COLUMN.int64
  if (typeof value === 'number') return COLUMN.unknownNumber
  return value instanceof Uint8Array ? COLUMN.bytes : COLUMN.int32
}

function readValue(value: unknown, column: number | undefined): unknown {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (isNumber && column === COLUMN.dateTime) return new Date(Number(value)).toISOString()
  if (typeof value === 'bigint') return value.toString()
  const isWhole = column === COLUMN.int32 || column === COLUMN.int64
  // SQLite keeps a fraction also in a column for whole numbers.
  return isWhole && typeof value === 'number' ? Math.trunc(value) : value
}

function describeForPrisma(error: unknown): unknown {
  const code = findSqliteCode(error)
  if (code === undefined) return error
  const { message } = error as Error
  const described = describe(code, message)
  return new DriverAdapterError(
    { originalCode: code, originalMessage: message, ...described },
    message,
  )
}

function describe(code: string, message: string): object {
  switch (code) {
    case 'SQLITE_CONSTRAINT_UNIQUE':
    case 'SQLITE_CONSTRAINT_PRIMARYKEY':
      return { kind: 'UniqueConstraintViolation', ...findConstraint(message) }
    case 'SQLITE_CONSTRAINT_NOTNULL':
      return { kind: 'NullConstraintViolation', ...findConstraint(message) }
    case 'SQLITE_CONSTRAINT_FOREIGNKEY':
    case 'SQLITE_CONSTRAINT_TRIGGER':
      return { kind: 'ForeignKeyConstraintViolation', constraint: { foreignKey: {} } }
    default:
      return describeByMessage(message)
  }
}

/** SQLite says it in words: `UNIQUE constraint failed: invoices.id, invoices.line`. */
function findConstraint(message: string): object {
  const columns = /constraint failed: (.+)$/s.exec(message)?.[1]?.split(', ')
  if (columns === undefined) return {}
  const table = columns[0]?.split('.').slice(0, -1).join('.')
  return { constraint: { fields: columns.map((column) => column.split('.').at(-1)) }, table }
}

function describeByMessage(message: string): object {
  const table = /no such table: (.+)$/s.exec(message)?.[1]
  if (table !== undefined) return { kind: 'TableDoesNotExist', table }
  const column = /(?:no such column: |has no column named )(.+)$/s.exec(message)?.[1]
  if (column !== undefined) return { kind: 'ColumnNotFound', column }
  return { kind: 'sqlite', extendedCode: 1, message }
}
