/**
 * Secrets that a sender shows as they are, compared in constant time.
 *
 * @module
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import { isLive } from './secrets.ts'
import type { ResolvedSecret } from './secrets.ts'

/** The label of the live secret that was shown, or `undefined` when none was. */
export function findTokenOwner(
  secrets: readonly ResolvedSecret[],
  shown: Uint8Array,
  nowMs: number,
): string | undefined {
  let owner: string | undefined
  const digest = hash(shown)
  // Every secret is compared, so that the time does not tell which one came near.
  for (const secret of secrets) {
    if (timingSafeEqual(digestOf(secret), digest) && isLive(secret, nowMs)) owner ??= secret.label
  }
  return owner
}

/** Hashed once. Kept beside the secret and not on it, where printing a source would print the hash of a short one. */
const DIGESTS = new WeakMap<ResolvedSecret, Buffer>()

function digestOf(secret: ResolvedSecret): Buffer {
  const digest = DIGESTS.get(secret) ?? hash(secret.key.export())
  DIGESTS.set(secret, digest)
  return digest
}

/** Hashed first, so that neither the content nor the length of a secret shows in the time. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return timingSafeEqual(hash(a), hash(b))
}

/** Whether two texts are the same. An empty one is the same as nothing. */
export function isSameText(a: string, b: string): boolean {
  return isSame(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8')) && a !== ''
}

function hash(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest()
}
