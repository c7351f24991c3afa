/**
 * Finds statements that change a setting, which is what the next event of a group would run with.
 *
 * A scanner like `transaction-control.ts`, for accidents: it sees SET, RESET and calls of `set_config` in
 * the text it is given, and not what a function or a DO block does inside.
 *
 * Only PostgreSQL: SQLite refuses handlers every PRAGMA.
 *
 * @module
 */

import { listStatementKeywords, splitTokens } from '../shared/transaction-control.ts'

export interface SettingChange {
  /** As it stands in a message: SET, RESET or set_config. */
  readonly keyword: string
  /** Whether it plainly ends with the transaction. */
  readonly isLocal: boolean
}

/** The changes in a text, in their order but calls last. */
export function listSettingChanges(sql: string): readonly SettingChange[] {
  const keywords = listStatementKeywords(sql, 'postgres')
  const hasStatement = keywords.includes('SET') || keywords.includes('RESET')
  const mayCall = /set_config/i.test(sql)
  // Nearly every text has neither, and is not cut into its words again.
  if (!hasStatement && !mayCall) return []
  const words = splitTokens(sql, 'postgres').filter((token) => !/^(?:\s|--|\/\*)/.test(token))
  return [...listStatements(words), ...listCalls(words)]
}

function listStatements(words: readonly string[]): SettingChange[] {
  return words.flatMap((word, at) => {
    const keyword = word.toUpperCase()
    const begins = at === 0 || words[at - 1] === ';'
    if (!begins || (keyword !== 'SET' && keyword !== 'RESET')) return []
    // No setting: it ends with the transaction by itself (`group-hazard.ts`).
    if (words[at + 1]?.toUpperCase() === 'CONSTRAINTS') return []
    return [{ keyword, isLocal: keyword === 'SET' && words[at + 1]?.toUpperCase() === 'LOCAL' }]
  })
}

/** What stands open at a place of the text: a bracket, and the argument that is being read in it. */
interface OpenBracket {
  /** The call of set_config that it belongs to, if it is one. */
  readonly call: { isLocal: boolean } | undefined
  /** The words of the last argument so far: the second one is enough to know that it is not just `true`. */
  count: number
  first: string
}

/** One walk for all calls: each of a thousand that stand in one another must not read the rest again. */
function listCalls(words: readonly string[]): SettingChange[] {
  const calls: { keyword: string; isLocal: boolean }[] = []
  const open: OpenBracket[] = []
  for (const [at, word] of words.entries()) {
    if (word === ')' || word === ']') close(open.pop())
    const inner = open.at(-1)
    if (inner !== undefined) readWord(inner, word)
    if (word !== '(' && word !== '[') continue
    const isCall = word === '(' && /^"?set_config"?$/i.test(words[at - 1] ?? '')
    const call = isCall ? { keyword: 'set_config', isLocal: false } : undefined
    if (call !== undefined) calls.push(call)
    open.push({ call, count: 0, first: '' })
  }
  for (const bracket of open) close(bracket)
  return calls
}

function readWord(bracket: OpenBracket, word: string): void {
  if (word === ',') bracket.count = 0
  else if (bracket.count++ === 0) bracket.first = word
}

/** Local where the last argument is the word `true`: what a parameter will be cannot be seen here. */
function close(bracket: OpenBracket | undefined): void {
  if (bracket?.call === undefined) return
  bracket.call.isLocal = bracket.count === 1 && bracket.first.toLowerCase() === 'true'
}
