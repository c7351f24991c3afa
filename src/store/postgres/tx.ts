import type { PgResult, PgTypeParsers } from './driver.ts'

/**
 * The transaction a handler writes through. `query` takes what a client of `pg` takes and answers as it does, in a
 * promise: callbacks, cursors and streams are refused by name.
 */
export interface PostgresTx {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as in `pg`: rows are what the query says they are
  query<Row = any>(
    query: string | PostgresTxQuery,
    values?: readonly unknown[],
  ): Promise<PgResult<Row>>
  /**
   * Runs one statement whose answer the handler does not need, and returns at once. It is sent together with
   * others, also with those of other events of the group, and costs a fraction of a round trip.
   *
   * - Statements run in the order in which they were called, those of `query` among them: a `query` sees what
   *   was written before it.
   * - The values are taken as they are at the call.
   * - What can be known at the call is thrown there: transaction control, a `tx` that is over, values that
   *   cannot be sent, COPY. What the database refuses fails the handler after it has returned, as if it had
   *   thrown: nothing of it is kept, and it cannot catch that error.
   * - Time that it takes counts towards `timeoutMs`.
   * - A text of several statements is refused by the database, also without values.
   */
  write(text: string, values?: readonly unknown[]): void
  /**
   * Runs `work` behind a savepoint: what it throws, or a `write` in it that the database refuses, undoes what was
   * written in it and is thrown on. The handler can catch it and go on. They nest; two side by side fail the handler.
   */
  savepoint<Result>(work: (tx: PostgresTx) => Result | Promise<Result>): Promise<Result>
  /**
   * The same transaction for code that opens transactions itself, such as an ORM: its BEGIN, COMMIT and ROLLBACK,
   * alone in a text, become those of a savepoint. In `tx` itself they are refused. Each call gives another one, which
   * ends what it has begun itself: two of them side by side fail the handler.
   */
  asNested(): PostgresTx
}

/** A statement with its values, and how it is asked. */
export interface PostgresTxQuery {
  readonly text: string
  readonly values?: readonly unknown[] | null | undefined
  /** With `'array'` each row is a list. */
  readonly rowMode?: 'array' | undefined
  /** Prepares it once for each connection, under this name. */
  readonly name?: string | undefined
  /** Parsers for this answer, instead of the pool's. */
  readonly types?: PgTypeParsers | undefined
  /** Asks for values in PostgreSQL's binary form. */
  readonly binary?: boolean | undefined
  /** One statement and no more, also without values. */
  readonly queryMode?: 'extended' | undefined
}
