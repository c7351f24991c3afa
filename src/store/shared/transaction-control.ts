/**
 * Finds statements that would end or change the transaction a handler was lent.
 *
 * This is a scanner, not a parser: it splits a text into statements and looks at the first word of
 * each, which is where SQL puts transaction control. It knows what can hide a semicolon or a word:
 * comments, strings and quoted names, by dialect, because the dialects disagree in ways that matter.
 * PostgreSQL nests block comments and SQLite does not, so that one of them runs the COMMIT in
 * `/* /* *\/ commit` and the other sees a comment.
 *
 * It errs on the side of refusing: the END of a trigger's body is taken for the statement END.
 * It is the first of several checks; a store also checks that its transaction is still open.
 *
 * @module
 */

export type SqlDialect = 'postgres' | 'sqlite'

/** The first word of `sql` that is in `refused` (upper case) and begins a statement, or `undefined`. */
export function findTransactionControl(
  sql: string,
  refused: ReadonlySet<string>,
  dialect: SqlDialect = 'postgres',
): string | undefined {
  return listStatementKeywords(sql, dialect).find((keyword) => refused.has(keyword))
}

/** The first word of each statement, in upper case; an empty string where a statement begins with no word. */
export function listStatementKeywords(sql: string, dialect: SqlDialect): readonly string[] {
  const known = SCANNED[dialect].get(sql)
  if (known !== undefined) return known
  const keywords = scanKeywords(sql, dialect)
  // Emptied when full: a handler that puts values into its texts has a new one for every event.
  if (SCANNED[dialect].size >= SCANNED_MAX) SCANNED[dialect].clear()
  if (sql.length <= SCANNED_LENGTH_MAX) SCANNED[dialect].set(sql, keywords)
  return keywords
}

/** A handler runs the same few texts for every event, and reading one takes 2 µs. */
const SCANNED: Readonly<Record<SqlDialect, Map<string, readonly string[]>>> = {
  postgres: new Map(),
  sqlite: new Map(),
}
const SCANNED_MAX = 500
const SCANNED_LENGTH_MAX = 2_000

function scanKeywords(sql: string, dialect: SqlDialect): readonly string[] {
  const keywords: string[] = []
  let begins = true
  for (const token of splitTokens(sql, dialect)) {
    if (token === ';') begins = true
    else if (begins && !isBlank(token)) {
      keywords.push(/^[a-z_]/i.test(token) ? token.toUpperCase() : '')
      begins = false
    }
  }
  return keywords
}

/** Cuts a text into words, strings, quoted names, comments and single characters. Joined, they are the text. */
export function splitTokens(sql: string, dialect: SqlDialect): readonly string[] {
  const tokens: string[] = []
  for (let at = 0; at < sql.length;) {
    const blankEnd = skipBlank(sql, at, dialect)
    const end = blankEnd > at ? blankEnd : skipToken(sql, at, dialect)
    tokens.push(sql.slice(at, end))
    at = end
  }
  return tokens
}

function isBlank(token: string): boolean {
  return /^(?:\s|--|\/\*)/.test(token)
}

/** The end of the white space or comment that starts at `at`, or `at` when none does. */
function skipBlank(sql: string, at: number, dialect: SqlDialect): number {
  // A byte order mark is white space to SQLite, and JavaScript's \s contains it.
  if (/\s/.test(sql.charAt(at))) return at + 1
  if (sql.startsWith('--', at)) {
    const lineEnd = dialect === 'postgres' ? /[\r\n]/g : /\n/g
    lineEnd.lastIndex = at
    return (lineEnd.exec(sql)?.index ?? sql.length - 1) + 1
  }
  if (sql.startsWith('/*', at)) return skipBlockComment(sql, at, dialect)
  return at
}

function skipBlockComment(sql: string, at: number, dialect: SqlDialect): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = at + 2
  let depth = 1
  for (let found = edge.exec(sql); found !== null; found = edge.exec(sql)) {
    if (found[0] === '*/') depth -= 1
    else if (dialect === 'postgres') depth += 1
    // In SQLite `/*/` inside a comment is not an opening, and its `*/` closes.
    else edge.lastIndex = found.index + 1
    if (depth === 0) return edge.lastIndex
  }
  return sql.length
}

/** The end of the word, string, quoted name or single character that starts at `at`. */
function skipToken(sql: string, at: number, dialect: SqlDialect): number {
  const character = sql.charAt(at)
  if (character === '"') return skipQuoted(sql, at, '"')
  if (character === "'") return skipQuoted(sql, at, "'")
  if (dialect === 'sqlite') {
    if (character === '`') return skipQuoted(sql, at, '`')
    if (character === '[') return skipPast(sql, at + 1, ']')
    if (/[$@#:]/.test(character)) return skipVariable(sql, at)
  } else {
    if (/^e'/i.test(sql.slice(at, at + 2))) return skipEscapeString(sql, at + 2)
    if (character === '$') return skipDollarQuoted(sql, at)
  }
  return skipWord(sql, at)
}

/** A doubled quote stands for itself, and reads as two strings side by side, which ends at the same place. */
function skipQuoted(sql: string, at: number, quote: string): number {
  return skipPast(sql, at + 1, quote)
}

function skipEscapeString(sql: string, at: number): number {
  const edge = /\\[\s\S]|'/g
  edge.lastIndex = at
  for (let found = edge.exec(sql); found !== null; found = edge.exec(sql)) {
    if (found[0] !== "'") continue
    // The doubled quote matters here, since what follows it is still an escape string.
    if (sql[found.index + 1] !== "'") return found.index + 1
    edge.lastIndex = found.index + 2
  }
  return sql.length
}

function skipDollarQuoted(sql: string, at: number): number {
  const opening = /\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/iy
  opening.lastIndex = at
  const tag = opening.exec(sql)?.[0]
  return tag === undefined ? at + 1 : skipPast(sql, at + tag.length, tag)
}

function skipPast(sql: string, at: number, text: string): number {
  const found = sql.indexOf(text, at)
  return found === -1 ? sql.length : found + text.length
}

/**
 * SQLite's variables may end in brackets, with anything but white space in them: `$a(';)` is one. A bracket
 * that nothing closes makes all of it no token to SQLite, and ends the text; looked for again from the next
 * variable on, the end of it would cost the square of the length.
 */
function skipVariable(sql: string, at: number): number {
  return skipMatch(sql, at, /[$@#:](?:[\w$\u0080-\uffff]|::)+(?:\([^ \t\n\v\f\r)]*\)?)?/y)
}

/**
 * A word takes its `$` along, so that `a$b$c` does not look like the start of a dollar-quoted string.
 * A number does not: in `1$$…$$` the string begins right after it.
 */
function skipWord(sql: string, at: number): number {
  return skipMatch(sql, at, /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d+/iy)
}

/** The end of what `pattern` (sticky) matches at `at`; where it matches nothing, one character. */
function skipMatch(sql: string, at: number, pattern: RegExp): number {
  pattern.lastIndex = at
  return pattern.test(sql) ? pattern.lastIndex : at + 1
}
