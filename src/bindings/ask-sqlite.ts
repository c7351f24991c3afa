/**
 * A statement of a library on a lent transaction of SQLite, with all that the libraries' own drivers tell of one.
 *
 * @module
 */

import { listStatementKeywords, splitTokens } from '../store/shared/transaction-control.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'

export interface SqliteAnswer<Row> {
  readonly rows: Row[]
  /** Whether the statement is of a kind that returns rows, also where it has returned none. */
  readonly isReader: boolean
  readonly isWrite: boolean
  readonly changes: number
  /** Only of a statement that inserts. */
  readonly lastInsertRowid?: number | bigint
}

export async function askSqlite<Row = Record<string, unknown>>(
  tx: SqliteTx,
  text: string,
  values: readonly unknown[] = [],
): Promise<SqliteAnswer<Row>> {
  const { isInsert, isReader, isWrite } = kindOf(text)
  const answer = tx.query<Row>(text, values)
  // Called before the other has been waited for, so that no statement comes between the two.
  const asked = isInsert ? tx.query<{ id: number | bigint }>(LAST_ID) : undefined
  const { rows, rowCount } = await answer
  const id = (await asked)?.rows[0]?.id
  const inserted = id === undefined ? undefined : { lastInsertRowid: id }
  return { rows, isReader, isWrite, changes: isWrite ? rowCount : 0, ...inserted }
}

const LAST_ID = 'select last_insert_rowid() as id'

interface Kind {
  readonly isInsert: boolean
  readonly isWrite: boolean
  readonly isReader: boolean
}

/**
 * By its words, and not by the columns that a driver tells of: the binding that is built into Node tells them only from
 * Node 22.16 on.
 */
function kindOf(text: string): Kind {
  const [keyword = ''] = listStatementKeywords(text, 'sqlite')
  const verb = keyword === 'WITH' ? findVerb(text) : keyword
  const isInsert = verb === 'INSERT' || verb === 'REPLACE'
  const isWrite = isInsert || verb === 'UPDATE' || verb === 'DELETE'
  const isReader = isWrite ? hasReturning(text) : READING.has(verb)
  return { isInsert, isWrite, isReader }
}

const READING: ReadonlySet<string> = new Set(['SELECT', 'VALUES', 'EXPLAIN', 'PRAGMA'])

/** What follows the tables that WITH defines: each of those is in brackets, and reads. */
function findVerb(text: string): string {
  let depth = 0
  for (const token of splitTokens(text, 'sqlite')) {
    if (token === '(') depth += 1
    else if (token === ')') depth -= 1
    else if (depth === 0 && VERB.test(token)) return token.toUpperCase()
  }
  return ''
}

const VERB = /^(?:select|values|insert|replace|update|delete)$/i

function hasReturning(text: string): boolean {
  if (!/returning/i.test(text)) return false
  return splitTokens(text, 'sqlite').some((token) => /^returning$/i.test(token))
}
