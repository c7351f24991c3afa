import { createHash } from 'node:crypto'

/**
 * Derived, never minted: a lost row, `forget` and a replay all give the same key again.
 *
 * 46 characters: every API that takes idempotency keys takes that many.
 */
export function deriveIdempotencyKey({ source, eventKey, handler, name }: IdempotencyKeyParts): string {
  const hash = createHash('sha256')
  for (const part of [source, eventKey, handler, name]) {
    const bytes = Buffer.from(part, part.isWellFormed() ? 'utf8' : 'utf16le')
    // The length in front keeps ("a", "bc") and ("ab", "c") apart.
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return `ho_${hash.digest('base64url')}`
}

export interface IdempotencyKeyParts {
  readonly source: string
  readonly eventKey: string
  readonly handler: string
  /** Tells several outside calls of one handler apart. */
  readonly name: string
}
