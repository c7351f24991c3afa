import { cutText, displayWidth } from './display-width.ts'

/** A text in lines that fit, broken between words; a word that is too long is cut. */
export function wrapText(text: string, columns: number): readonly string[] {
  if (!Number.isFinite(columns)) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (displayWidth(longer) <= columns) line = longer
    else {
      if (line !== '') lines.push(line)
      line = cutText(word, columns)
    }
  }
  return [...lines, line]
}

/**
 * The same for what a person may copy: a word that is too long, such as a path or an id, stays whole, and the terminal
 * breaks it where it ends.
 */
export function wrapWords(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`
    if (lines.length > 0 && displayWidth(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** What was laid out without a look at the terminal. What stands in a second column stays in it. */
export function wrapLines(text: string, columns: number): string {
  if (!Number.isFinite(columns)) return text
  const wrapped = text.split('\n').flatMap((line) => {
    if (displayWidth(line) <= columns) return [line]
    const [, first = '', second = ''] = /^( +\S.*? {2,})(\S.*)$/.exec(line) ?? []
    // A command alone is to be copied.
    if (second === '') return line.startsWith(' ') ? [line] : wrapWords(line, columns)
    const room = columns - displayWidth(first)
    return wrapWords(second, room).map(
      (words, at) => (at === 0 ? first : ' '.repeat(displayWidth(first))) + words,
    )
  })
  return wrapped.join('\n')
}
