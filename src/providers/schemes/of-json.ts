import { JsonBody } from '../../body/json-body.ts'
import type { Verification } from './verification.ts'

/**
 * A scheme whose bodies are JSON, looked at once the signature holds. For senders that sign the URL beside
 * the body: what they signed for a longer URL would otherwise be read as ours, with the rest as the body.
 */
export function ofJson(verification: Verification): Verification {
  return {
    ...verification,
    build(context) {
      const built = verification.build(context)
      return {
        ...built,
        async verify(delivery) {
          const verdict = await built.verify(delivery)
          if (!verdict.ok) return verdict
          const { body } = delivery
          const isWhole = body.byteLength === 0 || JsonBody.find(body) !== undefined
          return isWhole ? verdict : { ok: false, reason: 'malformed-body' }
        },
      }
    },
  }
}
