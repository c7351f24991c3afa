import { JsonBody } from '../../body/json-body.ts'
import type { Verification } from './verification.ts'

/**
 * A scheme whose bodies are JSON, looked at once the signature holds. For senders that sign the URL beside
 * the body: what they signed for a longer URL would otherwise be read as ours, with the rest as the body.
 * `isOurs` is for a sender whose bodies are of one shape.
 */
export function ofJson(
  verification: Verification,
  isOurs: (body: Uint8Array) => boolean = isEmptyOrJson,
): Verification {
  return {
    ...verification,
    build(context) {
      const built = verification.build(context)
      return {
        ...built,
        async verify(delivery) {
          const verdict = await built.verify(delivery)
          if (!verdict.ok) return verdict
          return isOurs(delivery.body) ? verdict : { ok: false, reason: 'malformed-body' }
        },
      }
    },
  }
}

function isEmptyOrJson(body: Uint8Array): boolean {
  return body.byteLength === 0 || JsonBody.find(body) !== undefined
}
