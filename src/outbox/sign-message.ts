/**
 * The signature of Standard Webhooks: `v1`, an HMAC with SHA-256 over id, timestamp and body.
 *
 * @module
 */

import { createHash, createHmac } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES_MIN = 16

/** The bytes of a secret: what follows `whsec_` is base64, anything else is taken as it is. */
export function readSecret(option: string, secret: unknown): Buffer {
  if (typeof secret !== 'string') throw new OptionInvalidError(option, 'a string', secret)
  const bytes = secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), 'base64')
    : Buffer.from(secret)
  if (bytes.byteLength >= SECRET_BYTES_MIN) return bytes
  throw new OptionInvalidError(option, `a secret of at least ${SECRET_BYTES_MIN} bytes`, secret)
}

/**
 * The id under which a receiver knows the message: the same for every attempt, and derived from the key
 * rather than the row, which may be lost and written anew. Hashed, since a key may have dots in it, and
 * those separate the parts of what is signed.
 */
export function webhookId(key: string): string {
  return `msg_${createHash('sha256').update(key).digest('base64url')}`
}

export interface SignedParts {
  readonly id: string
  /** Of this attempt, in seconds. */
  readonly timestamp: number
  readonly body: Uint8Array
}

/** One signature for each secret, so that a receiver that has only one of them believes it. */
export function signMessage(
  secrets: readonly Buffer[],
  { id, timestamp, body }: SignedParts,
): string {
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body)
      return `v1,${hmac.digest('base64')}`
    })
    .join(' ')
}
