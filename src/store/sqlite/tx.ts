import type { SqliteColumn, SqlRow } from './driver.ts'

/** What a handler gets as `ctx.tx`: its writes and the event's completion commit together. */
export interface SqliteTx {
  /**
   * Runs a statement in the handler's transaction. Placeholders are `?` or `$1`. Bytes come and go as
   * `Uint8Array`; a whole number past 2^53 comes as `bigint`.
   *
   * Several statements may stand in one text if it has no parameters; their rows are not returned.
   */
  query<Row = SqlRow>(
    sql: string,
    params?: readonly unknown[],
    options?: SqliteTxQueryOptions,
  ): Promise<SqliteTxResult<Row>>
  /**
   * Runs a statement whose answer the handler does not need. Here it has run when the call returns, and throws
   * there what is wrong with it, unless the handler has to wait for SQLite's one writer: then it runs when that is
   * free, and what the database refuses fails the handler. On PostgreSQL it is always sent later. So do not catch
   * what it throws.
   */
  write(sql: string, params?: readonly unknown[]): void
  /**
   * Runs `work` behind a savepoint: what it throws undoes what was written in it, and is thrown on. The handler can
   * catch it and go on. They nest; two side by side fail the handler.
   */
  savepoint<Result>(work: (tx: SqliteTx) => Result | Promise<Result>): Promise<Result>
  /**
   * The same transaction for code that opens transactions itself, such as an ORM: its BEGIN, COMMIT and ROLLBACK,
   * alone in a text, become those of a savepoint. In `tx` itself they are refused. Each call gives another one, which
   * ends what it has begun itself: two of them side by side fail the handler.
   */
  asNested(): SqliteTx
}

/** What `tx.query` resolves with. */
export interface SqliteTxResult<Row> {
  /** What the statement returned; none for one that returns nothing. */
  rows: Row[]
  /** How many rows it returned, or changed. */
  rowCount: number
  /** Its columns, in the order of the values, where `rowMode` is `'array'`. */
  columns?: readonly SqliteColumn[]
}

/** Whether this was lent by the store, and is not a transaction of the user's own. */
export function isLentTx(tx: unknown): tx is SqliteTx {
  return typeof tx === 'object' && tx !== null && 'asNested' in tx
}

/** How a statement is asked. */
export interface SqliteTxQueryOptions {
  /**
   * With `'array'` each row is a list, in which two columns of one name are two values. Left out, a row is an object.
   * The binding that is built into Node can do it from Node 22.16 on.
   */
  readonly rowMode?: 'array' | undefined
}
