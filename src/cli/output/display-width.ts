/**
 * How wide a text is on a terminal, in columns: an accent that stands on another letter has none, an ideograph and an
 * emoji have two.
 *
 * @module
 */

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\ufe0f/u

export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of SEGMENTER.segment(text)) width += widthOf(segment)
  return width
}

/** The text, or as much of it as fits before a `…`. */
export function cutText(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  if (columns < 1) return ''
  let kept = ''
  let width = 0
  for (const { segment } of SEGMENTER.segment(text)) {
    width += widthOf(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** The text, or as much of its end as fits behind a `…`. */
export function cutStart(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let kept = ''
  let width = 1
  for (const { segment } of [...SEGMENTER.segment(text)].toReversed()) {
    width += widthOf(segment)
    if (width > columns) break
    kept = segment + kept
  }
  return columns < 1 ? '' : `…${kept}`
}

export function padText(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)))
}

function widthOf(grapheme: string): number {
  if (/^\p{Mark}/u.test(grapheme)) return 0
  return WIDE.test(grapheme) ? 2 : 1
}
