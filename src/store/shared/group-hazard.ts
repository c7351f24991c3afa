/**
 * Finds statements whose effect on the session would reach the next event of a group.
 *
 * A scanner like `transaction-control.ts`, and a hint: a handler that says such a thing runs alone at once. What it
 * does not see, in a function say, is found when the group has run (`findTraces` in `contract/transaction.ts`), at the price of
 * running it again.
 *
 * @module
 */

import { splitTokens } from './transaction-control.ts'
import type { SqlDialect } from './transaction-control.ts'

/** As it stands in a message; `undefined` where there is none. */
export function findGroupHazard(sql: string, dialect: SqlDialect): string | undefined {
  if (dialect === 'postgres') {
    if (SETS_CONSTRAINTS.test(sql)) return 'SET CONSTRAINTS'
    const lock = SESSION_LOCK.exec(sql)
    if (lock !== null) return lock[0].toLowerCase()
  }
  // Nearly every text has none of it, and is not cut into its words.
  if (!/temp/i.test(sql)) return undefined
  const words = splitTokens(sql, dialect)
    .filter((token) => !/^(?:\s|--|\/\*)/.test(token))
    .map((token) => token.replaceAll('"', '').toLowerCase())
  return words.some((word, at) => isTemporary(word, words, at)) ? 'A temporary object' : undefined
}

/**
 * Also in a DO block or a text that it executes, which is read like the rest: when constraints are checked nothing
 * tells afterwards, and only the end of the transaction puts it back. Not a column of that name in an UPDATE.
 */
const SETS_CONSTRAINTS =
  /\bset(?:\s|--[^\n]{0,200}\n|\/\*(?:[^*]|\*(?!\/)){0,200}\*\/){1,50}constraints\b(?!"|\s{0,50}=)/i

/**
 * The same: which of its locks a transaction would keep by itself, PostgreSQL does not tell, and a neighbour in the same
 * session would get a lock that is held.
 */
const SESSION_LOCK = /\bpg_(?:try_)?advisory_lock(?:_shared)?\b/i

/** `create [or replace] [local] temp …`, `… into temp …`, and what is made in the temporary schema by its name. */
function isTemporary(word: string, words: readonly string[], at: number): boolean {
  if (word === 'pg_temp') return true
  if (word === 'temp' && words[at + 1] === '.') return true
  if (word !== 'temp' && word !== 'temporary') return false
  return ['create', 'replace', 'local', 'global', 'into'].includes(words[at - 1] ?? '')
}
