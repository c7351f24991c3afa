/**
 * Reads BEGIN, COMMIT and their kind as an order to a savepoint, for code that opens transactions itself inside
 * a transaction that it was lent (`tx.asNested()`).
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import { listStatementKeywords, splitTokens } from './transaction-control.ts'
import type { SqlDialect } from './transaction-control.ts'

export type NestedControl =
  | { readonly verb: 'begin' | 'commit' | 'rollback'; readonly command: string }
  | {
      readonly verb: 'savepoint' | 'release' | 'rollback-to'
      readonly name: string
      readonly command: string
    }

/**
 * What a text of one statement orders; `undefined` for any that is no transaction control, or holds more.
 *
 * @throws HookonceError with the code TRANSACTION_CONTROL for an isolation that a lent transaction does not have
 */
export function readNestedControl(sql: string, dialect: SqlDialect): NestedControl | undefined {
  const [keyword = '', ...others] = listStatementKeywords(sql, dialect)
  // Nearly every statement is something else, and is not cut into its words for this.
  if (others.length > 0 || !KEYWORDS.has(keyword)) return undefined
  const [, ...words] = splitTokens(sql, dialect).filter((token) => !/^(?:\s|;|--|\/\*)/.test(token))
  return readCommand(keyword, words, sql)
}

const KEYWORDS: ReadonlySet<string> = new Set([
  'BEGIN',
  'START',
  'COMMIT',
  'END',
  'ROLLBACK',
  'ABORT',
  'SAVEPOINT',
  'RELEASE',
])

function readCommand(
  keyword: string,
  given: readonly string[],
  sql: string,
): NestedControl | undefined {
  // WORK and TRANSACTION may stand behind any of them, and mean nothing.
  const words = given.slice(/^(?:work|transaction)$/i.test(given[0] ?? '') ? 1 : 0)
  const rest = words.join(' ').toUpperCase()
  switch (keyword) {
    case 'BEGIN':
    case 'START':
      requireModes(rest, sql)
      return { verb: 'begin', command: 'BEGIN' }
    case 'COMMIT':
    case 'END':
      return isPlain(rest) ? { verb: 'commit', command: 'COMMIT' } : undefined
    case 'SAVEPOINT':
      return named('savepoint', given)
    case 'RELEASE':
      return named('release', given)
    default:
      if (isPlain(rest)) return { verb: 'rollback', command: 'ROLLBACK' }
      return rest.startsWith('TO ') ? named('rollback-to', words.slice(1)) : undefined
  }
}

function isPlain(rest: string): boolean {
  return rest === '' || rest === 'AND NO CHAIN'
}

/** What a lent transaction is anyway. SQLite's kinds of BEGIN are about a lock that it has already. */
const MODES =
  /ISOLATION LEVEL READ (?:UN)?COMMITTED|READ WRITE|(?:NOT )?DEFERRABLE|DEFERRED|IMMEDIATE|EXCLUSIVE|TRANSACTION|[ ,]/g

function requireModes(modes: string, sql: string): void {
  if (modes.replaceAll(MODES, '') === '') return
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    `A handler's transaction is READ COMMITTED and READ WRITE, and so is what is nested in it: ${sql.slice(0, 100)} is refused`,
  )
}

/** Without quotes a name has no case. */
function named(
  verb: 'savepoint' | 'release' | 'rollback-to',
  given: readonly string[],
): NestedControl | undefined {
  const isLong = given.length > 1 && given[0]?.toUpperCase() === 'SAVEPOINT'
  const [name, ...others] = isLong ? given.slice(1) : given
  if (name === undefined || others.length > 0) return undefined
  const command = verb === 'rollback-to' ? 'ROLLBACK' : verb.toUpperCase()
  return { verb, name: name.startsWith('"') ? name.slice(1, -1) : name.toLowerCase(), command }
}
