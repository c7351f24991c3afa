/**
 * The few things this store needs of a SQLite binding, so that two bindings can serve.
 *
 * Everything is synchronous, as SQLite is. Parameters are always bound as a list: with libsql 0.5.29
 * a Buffer given by itself aborts the process, and so does a boolean, which is why values go through
 * `toSqlValue` before a binding sees them.
 *
 * @module
 */

export interface SqliteDriver {
  readonly name: 'node:sqlite' | 'libsql'
  open(file: string): SqliteHandle
}

/** One open connection. */
export interface SqliteHandle {
  /** Runs a text of one or more statements without parameters. */
  execute(sql: string): void
  prepare(sql: string): SqliteStatement
  inTransaction(): boolean
  close(): void
}

export interface SqliteStatement {
  /** Every row, read to the end: a statement left half-read pins its snapshot and its locks. */
  all(params: readonly SqlValue[]): SqlRow[]
  /** Runs a statement that gives no rows; returns how many it changed. */
  run(params: readonly SqlValue[]): number
  /**
   * For statements we did not write: rows if it has any, and whole numbers past 2^53 as `bigint`. A row is a list of
   * values in place of an object where `isArray` says so; then there are `columns` as well.
   */
  query(params: readonly SqlValue[], isArray?: boolean): SqlAnswer
}

/** What a statement that we did not write is answered with. */
export interface SqlAnswer {
  readonly rows: SqlRow[]
  readonly rowCount: number
  readonly columns?: readonly SqliteColumn[]
}

/** A column of an answer. */
export interface SqliteColumn {
  readonly name: string
  /** As the table declares it; `null` for an expression, and where the table does not say. */
  readonly type: string | null
}

export type SqlValue = null | number | bigint | string | Uint8Array
export type SqlRow = Record<string, SqlValue>

/**
 * A parameter as both bindings take it. Whole numbers become `bigint`, because both bindings bind a
 * `number` as a float, which a column without a type would keep as one.
 */
export function toSqlValue(param: unknown): SqlValue {
  switch (typeof param) {
    case 'undefined':
      return null
    case 'boolean':
      return param ? 1n : 0n
    case 'number':
      return Number.isSafeInteger(param) ? BigInt(param) : param
    case 'bigint':
    case 'string':
      return param
    default:
      if (param === null || param instanceof Uint8Array) return param
      if (param instanceof ArrayBuffer) return new Uint8Array(param)
      throw new TypeError(
        'A parameter must be a string, a number, a bigint, a boolean, bytes or null. ' +
          'Pass a Date as its ISO text or its milliseconds, an object as JSON text.',
      )
  }
}

/** A value as the user gets it: bytes as `Uint8Array`, whole numbers as `number` where that is exact. */
export function fromSqlValue(value: unknown): SqlValue {
  if (typeof value === 'bigint') {
    const asNumber = Number(value)
    return Number.isSafeInteger(asNumber) ? asNumber : value
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return value as SqlValue
}
