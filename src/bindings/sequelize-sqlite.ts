/**
 * What Sequelize takes for a `Database` of the package `sqlite3`: one whose statements a lent transaction answers.
 *
 * @module
 */

import { splitTokens } from '../store/shared/transaction-control.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { askSqlite } from './ask-sqlite.ts'
import { findSqliteCode } from './sqlite-errors.ts'

/** By its name and by its number: Sequelize binds both by name. */
type Parameters = readonly unknown[] | Readonly<Record<string, unknown>>

/** As sqlite3 calls it: what is known of the statement is `this`. */
type Callback = (this: Statement, error: unknown, rows?: readonly unknown[]) => void

export class LentSqlite3 {
  readonly #tx: SqliteTx
  uuid?: string

  constructor(sql: SqliteTx) {
    this.#tx = sql.asNested()
  }

  /** For transactions, which are no statements of Sequelize's here. */
  async query(text: string): Promise<void> {
    await this.#tx.query(text)
  }

  /** Statements are in the order of their calls anyway. */
  serialize(work: () => unknown): void {
    work()
  }

  run(text: string, parameters: Parameters, callback: Callback): void {
    void this.#ask(text, parameters, callback)
  }

  /** Sequelize asks for the columns of a table before it reads from it, and then without parameters. */
  all(...given: [string, Callback] | [string, Parameters, Callback]): void {
    if (given.length === 3) return void this.#ask(...given)
    const [text, callback] = given
    const table = TABLE_INFO.exec(text)?.[1]
    if (table === undefined) void this.#ask(text, [], callback)
    // A lent transaction refuses pragmas, since some of them commit.
    else void this.#ask('select * from pragma_table_info(?)', [table], callback)
  }

  async #ask(text: string, parameters: Parameters, callback: Callback): Promise<void> {
    try {
      const { sql, values } = numberParameters(text, parameters)
      const { rows, changes, lastInsertRowid = 0 } = await askSqlite(this.#tx, sql, values)
      callback.call(new Statement(lastInsertRowid, changes), null, rows)
    } catch (error) {
      callback.call(new Statement(0, 0), withCode(error))
    }
  }
}

const TABLE_INFO = /^pragma table_info\(`(.+)`\)$/is

/** Sequelize knows it by this name. */
class Statement {
  readonly lastID: number | bigint
  readonly changes: number

  constructor(lastID: number | bigint, changes: number) {
    this.lastID = lastID
    this.changes = changes
  }
}

/** A lent transaction takes values by their number alone. */
function numberParameters(text: string, parameters: Parameters) {
  if (Array.isArray(parameters)) return { sql: text, values: parameters as readonly unknown[] }
  const named = parameters as Readonly<Record<string, unknown>>
  const numbers = new Map<string, number>()
  const tokens = splitTokens(text, 'sqlite').map((token) => {
    if (!(token in named)) return token
    if (!numbers.has(token)) numbers.set(token, numbers.size + 1)
    return `?${numbers.get(token)}`
  })
  return { sql: tokens.join(''), values: [...numbers.keys()].map((name) => named[name]) }
}

/** Sequelize makes its own errors by the name that SQLite has for them. */
function withCode(error: unknown): unknown {
  const code = findSqliteCode(error)
  return code === undefined ? error : Object.assign(error as object, { code })
}
