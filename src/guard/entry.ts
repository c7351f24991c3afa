import { digestBytes, digestOfParts } from '../model/digest.ts'

/** One event in Redis. */
export interface Entry {
  readonly source: string
  /** The sender's identity of the event, for happenings. */
  readonly key: string
  /** Source, scope and key, hashed as an inbox hashes them, as hex. Idempotency keys follow from it. */
  readonly keyHash: string
  readonly redisKey: string
  /** What tells a duplicate from a conflict, where the content is known. */
  readonly fingerprint: string | undefined
}

/** The entry of an event that is known by its key alone. */
export function entryOf(prefix: string, source: string, key: string): Entry {
  const keyHash = digestBytes(digestOfParts('key', source, 'unscoped', '', key)).toString('hex')
  return {
    source,
    key,
    keyHash,
    redisKey: redisKeyOf(prefix, source, keyHash),
    fingerprint: undefined,
  }
}

/**
 * The hash, so that a key of any length and any bytes does, with the source in front for a person who looks
 * at the keys. What is in the braces decides the slot in a cluster.
 */
export function redisKeyOf(prefix: string, source: string, keyHash: string): string {
  return `${prefix}${source}:{${keyHash}}`
}
