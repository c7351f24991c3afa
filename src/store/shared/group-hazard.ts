/**
 * Finds statements whose effect on the session would reach the next event of a group.
 *
 * A scanner like `transaction-control.ts`, and a hint: a handler that says such a thing runs alone at once. What it
 * does not see, in a function say, is found when the group has run (`findTraces` in `contract.ts`), at the price of
 * running it again.
 *
 * @module
 */

import { splitTokens } from './transaction-control.ts'
import type { SqlDialect } from './transaction-control.ts'

/** As it stands in a message; `undefined` where there is none. */
export function findGroupHazard(sql: string, dialect: SqlDialect): string | undefined {
  // Nearly every text has none of it, and is not cut into its words.
  if (!/temp|advisory_lock/i.test(sql)) return undefined
  const words = splitTokens(sql, dialect)
    .filter((token) => !/^(?:\s|--|\/\*)/.test(token))
    .map((token) => token.replaceAll('"', '').toLowerCase())
  if (words.some((word, at) => isTemporary(word, words, at))) return 'A temporary object'
  return dialect === 'postgres' ? words.find((word) => SESSION_LOCKS.has(word)) : undefined
}

const SESSION_LOCKS: ReadonlySet<string> = new Set([
  'pg_advisory_lock',
  'pg_advisory_lock_shared',
  'pg_try_advisory_lock',
  'pg_try_advisory_lock_shared',
])

/** `create [or replace] [local] temp …`, `… into temp …`, and what is made in the temporary schema by its name. */
function isTemporary(word: string, words: readonly string[], at: number): boolean {
  if (word === 'pg_temp') return true
  if (word === 'temp' && words[at + 1] === '.') return true
  if (word !== 'temp' && word !== 'temporary') return false
  return ['create', 'replace', 'local', 'global', 'into'].includes(words[at - 1] ?? '')
}
