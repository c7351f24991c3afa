import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** What a token begins with, so that scanners of repositories know it, and a stranger's text costs no statement. */
export const TOKEN_PREFIX = 'hko_'

/** 256 bits: it cannot be guessed, so that its hash needs no salt and no slowness. */
export function newSecretText(): string {
  return randomBytes(32).toString('base64url')
}

/** What is kept and compared in place of a secret. */
export function hashSecret(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** In the same time, whatever they hold. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && timingSafeEqual(one, other)
}
