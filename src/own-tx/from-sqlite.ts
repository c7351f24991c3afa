import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { returnsRows, rowsOf } from './rows-of.ts'

/** A connection of better-sqlite3, libsql or node:sqlite, as far as it is used. */
export interface SqliteConnection {
  prepare(text: string): { all(...values: never[]): unknown; run(...values: never[]): unknown }
}

/**
 * A connection to the inbox's file in which BEGIN IMMEDIATE was sent: of better-sqlite3, libsql or node:sqlite. Their
 * own `transaction(fn)` cannot wait for anything, so send BEGIN IMMEDIATE and COMMIT yourself.
 */
export function fromSqlite(db: SqliteConnection): OwnTx {
  // node:sqlite takes values one by one. libsql ends the process when it is given bytes so, and takes a list.
  const takesLists = 'inTransaction' in db
  return ownTxOn(db, async (text, values = []) => {
    const statement = db.prepare(text)
    const given = (takesLists ? [values] : values) as never[]
    if (returnsRows(text)) return rowsOf(statement.all(...given))
    statement.run(...given)
    return { rows: [] }
  })
}
