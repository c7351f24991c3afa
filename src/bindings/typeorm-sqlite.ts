/**
 * A query runner of TypeORM's for better-sqlite3 whose statements a lent transaction answers.
 *
 * TypeORM prepares a statement and has its answer at once, which a transaction that may have to wait for SQLite's writer
 * cannot give. But it waits for the statement to be prepared. So that is where it runs, and what TypeORM then calls has
 * the answer. All that is around it is TypeORM's own: its logger, its subscribers, its errors.
 *
 * @module
 */

import { HookonceError } from '../errors.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'
import { askSqlite } from './ask-sqlite.ts'
import { viewOf } from './view-of.ts'

/** A `DataSource` of the type `better-sqlite3`, with what its types keep to themselves. */
export interface SqliteDataSource {
  readonly driver: { createQueryRunner(mode: string): SqliteRunner }
  createEntityManager(runner: SqliteRunner): unknown
}

/** A query runner of that data source. */
interface SqliteRunner {
  manager: unknown
  /** The last of the arguments says how much of the answer is wanted. */
  query: (
    this: SqliteRunner,
    text: string,
    values?: readonly unknown[],
    isStructured?: boolean,
  ) => Promise<unknown>
  /** What `query` waits for before it calls the statement. */
  getStmt(text: string): Promise<AnsweredStatement>
}

/** A statement of better-sqlite3, as far as TypeORM calls it. */
interface AnsweredStatement {
  /** Whether it returns rows: then `all` is called, and `run` otherwise. */
  readonly reader: boolean
  all(): readonly unknown[]
  run(): { readonly changes: number; readonly lastInsertRowid: number | bigint }
}

export function lendSqliteRunner(dataSource: SqliteDataSource, sql: SqliteTx): SqliteRunner {
  const tx = sql.asNested()
  // A data source for SQLite has one runner for all that it does, and keeps it in its driver.
  const driver = viewOf(dataSource.driver, { queryRunner: undefined, databaseConnection: REFUSING })
  const runner = driver.createQueryRunner('master')
  const { query } = runner
  return Object.assign(runner, {
    manager: dataSource.createEntityManager(runner),
    query: (text: string, values: readonly unknown[] = [], isStructured = false) => {
      const answering = viewOf(runner, { getStmt: () => answer(tx, text, values) })
      return query.call(answering, text, values, isStructured)
    },
  })
}

async function answer(
  tx: SqliteTx,
  text: string,
  values: readonly unknown[],
): Promise<AnsweredStatement> {
  try {
    const { rows, isReader, changes, lastInsertRowid = 0 } = await askSqlite(tx, text, values)
    return { reader: isReader, all: () => rows, run: () => ({ changes, lastInsertRowid }) }
  } catch (error) {
    // TypeORM 0.3 logs what fails, and makes a `QueryFailedError` of it, only from the call on.
    const fail = () => {
      throw error
    }
    return { reader: true, all: fail, run: fail }
  }
}

/** What `runner.connect()` gives: the connection of the data source would be outside of the transaction. */
const REFUSING = Object.freeze({ prepare: refuse, pragma: refuse, exec: refuse })

function refuse(): never {
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    'A handler speaks through its transaction alone: call tx.query, and not the connection of the data source',
  )
}
