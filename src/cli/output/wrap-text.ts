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
