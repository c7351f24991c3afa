/**
 * What errors have in common: the text of an error without what differs from one event to the next.
 *
 * Two errors are one group when the reason, the handler and this text are the same. Values are masked by their shape,
 * in one pass for each shape; no pattern can go back over what it has read, so that the time grows with the length of
 * the text and with nothing else (`test/admin/error-pattern.test.ts`).
 *
 * @module
 */

import { createHash } from 'node:crypto'

/** What is known of a failure. */
export interface FailureTexts {
  readonly reason: string
  readonly handler: string | undefined
  /** The error's name and message. */
  readonly message: string
}

export interface ErrorPattern {
  /** The same for errors of one group, in every process: 16 characters. */
  readonly groupId: string
  /** The message with its values masked. */
  readonly pattern: string
}

/** Longer texts differ in what matters before they end. */
const MESSAGE_MAX = 1_024

export function findErrorPattern({ reason, handler, message }: FailureTexts): ErrorPattern {
  const pattern = maskValues(message.slice(0, MESSAGE_MAX).toWellFormed())
  const hash = createHash('sha256')
  for (const part of [reason, handler ?? '', pattern]) {
    // The length in front keeps ("a", "bc") and ("ab", "c") apart.
    hash.update(`${part.length}:`).update(part)
  }
  return { groupId: hash.digest('hex').slice(0, 16), pattern }
}

/** What is in quotes; what looks like an id, that is, has a digit in it; a number. */
function maskValues(text: string): string {
  return (
    text
      .replace(/"[^"\n]*"/g, '"…"')
      .replace(/'[^'\n]*'(?![a-z])/g, "'…'")
      .replace(/`[^`\n]*`/g, '`…`')
      .replace(/[\p{L}\p{N}_-]+/gu, maskWord)
      // 1.5, 127.0.0.1:5432 and 2026/01/02 are one value each.
      .replace(/…(?:[.:,/]…)+/g, '…')
      .replace(/[ \t\r\n]+/g, ' ')
      .trim()
  )
}

function maskWord(word: string): string {
  return /\p{N}/u.test(word) ? '…' : word
}
