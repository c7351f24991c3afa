import { SEALED } from './encryption/cipher.ts'

/** How much of a text is shown in a list, in characters. */
export const SHOWN_MAX = 1_024

/**
 * The beginning of a text that came from outside. It ends with a whole character. What is encrypted is cut where it is
 * opened.
 */
export function cutText(text: string): string {
  if (text.length <= SHOWN_MAX || text.startsWith(SEALED)) return text
  const cut = text.slice(0, SHOWN_MAX)
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut
}

/** `undefined` stays so. */
export function cutTextOf(text: string | null | undefined): string | undefined {
  return text == null ? undefined : cutText(text)
}

/** A to Z as a to z, and every other character as it is: what both engines do. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
