import { createHash } from 'node:crypto'

/**
 * Derived, never minted: a lost row, `forget` and a replay all give the same key again.
 *
 * From the hash of the event's identity rather than its key alone: one id of a sender may stand for
 * several events, in two accounts, or in live and in test mode.
 *
 * 46 characters: every API that takes idempotency keys takes that many.
 */
export function deriveIdempotencyKey({ keyHash, handler, name }: IdempotencyKeyParts): string {
  const hash = createHash('sha256')
  for (const part of [keyHash, handler, name]) {
    const bytes = Buffer.from(part, part.isWellFormed() ? 'utf8' : 'utf16le')
    // The length in front keeps ("a", "bc") and ("ab", "c") apart.
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return `ho_${hash.digest('base64url')}`
}

export interface IdempotencyKeyParts {
  /** The identity of the event: source, scope and key, hashed. */
  readonly keyHash: string
  readonly handler: string
  /** Tells several outside calls of one handler apart. */
  readonly name: string
}
