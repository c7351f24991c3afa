import type { SqlAnswer, SqliteHandle, SqliteStatement, SqlRow } from './driver.ts'
import { toSqlValue } from './driver.ts'

/** The most statements of a handler that are kept prepared; ours are always kept. */
const LENT_STATEMENTS_MAX = 100

/**
 * One connection with our table names bound: `{prefix}` in a text stands for what our tables begin
 * with, and each of our texts is prepared once.
 */
export class Connection {
  readonly #handle: SqliteHandle
  readonly #prefix: string
  readonly #ours = new Map<string, SqliteStatement>()
  readonly #lent = new Map<string, SqliteStatement>()

  constructor(handle: SqliteHandle, prefix: string) {
    this.#handle = handle
    this.#prefix = prefix
  }

  /** Runs one of our texts, of one or more statements without parameters. */
  execute(sql: string): void {
    this.#handle.execute(this.#bind(sql))
  }

  all<Row extends SqlRow>(sql: string, params: readonly unknown[] = []): Row[] {
    return this.#prepared(sql).all(params.map(toSqlValue)) as Row[]
  }

  /** Returns how many rows changed. */
  run(sql: string, params: readonly unknown[] = []): number {
    return this.#prepared(sql).run(params.map(toSqlValue))
  }

  /** Runs a handler's statement, untouched. */
  query(sql: string, params: readonly unknown[], isArray = false): SqlAnswer {
    const values = params.map(toSqlValue)
    const statement = this.#lent.get(sql) ?? this.#handle.prepare(sql)
    // Taken out while it runs and put back at the end: the oldest is then the first to go, and one
    // that failed, which libsql leaves without a reset, is not used again.
    this.#lent.delete(sql)
    const result = statement.query(values, isArray)
    this.#lent.set(sql, statement)
    if (this.#lent.size > LENT_STATEMENTS_MAX)
      this.#lent.delete(this.#lent.keys().next().value ?? '')
    return result
  }

  /** Runs a handler's text of several statements. */
  executeLent(sql: string): void {
    this.#handle.execute(sql)
  }

  inTransaction(): boolean {
    return this.#handle.inTransaction()
  }

  close(): void {
    this.#ours.clear()
    this.#lent.clear()
    this.#handle.close()
  }

  #prepared(sql: string): SqliteStatement {
    const known = this.#ours.get(sql)
    if (known !== undefined) return known
    const statement = this.#handle.prepare(this.#bind(sql))
    this.#ours.set(sql, statement)
    return statement
  }

  #bind(sql: string): string {
    return sql.replaceAll('{prefix}', this.#prefix)
  }
}
