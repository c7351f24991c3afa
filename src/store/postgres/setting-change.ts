/**
 * Finds statements that change a setting, which is what the next event of a group would run with.
 *
 * A scanner like `transaction-control.ts`, for accidents: it sees SET, RESET and calls of `set_config` in
 * the text it is given, and not what a function or a DO block does inside.
 *
 * @module
 */

import { listStatementKeywords, splitTokens } from '../transaction-control.ts'

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
    return [{ keyword, isLocal: keyword === 'SET' && words[at + 1]?.toUpperCase() === 'LOCAL' }]
  })
}

function listCalls(words: readonly string[]): SettingChange[] {
  return words.flatMap((word, at) => {
    const isCall = /^"?set_config"?$/i.test(word) && words[at + 1] === '('
    return isCall ? [{ keyword: 'set_config', isLocal: isLastTrue(words, at + 2) }] : []
  })
}

/** Whether the last argument is the word `true`: what a parameter will be cannot be seen here. */
function isLastTrue(words: readonly string[], start: number): boolean {
  let depth = 1
  let argument: string[] = []
  for (const word of words.slice(start)) {
    if (word === '(' || word === '[') depth += 1
    if (word === ')' || word === ']') depth -= 1
    if (depth === 0) break
    if (word === ',' && depth === 1) argument = []
    else argument.push(word)
  }
  return argument.length === 1 && argument[0]?.toLowerCase() === 'true'
}
