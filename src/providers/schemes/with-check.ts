import type { Delivery } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import type { BuildContext, Verification } from './verification.ts'

/** What is asked of a delivery before its signature is looked at. */
export interface Check {
  /** Headers that it reads beside those of the scheme. */
  readonly headers?: readonly string[]
  /** Why the delivery is refused, or `undefined`. Total: any delivery, never a throw. */
  readonly check: (
    delivery: Delivery,
    options: BuildContext['options'],
  ) => VerdictReason | undefined
}

/** A scheme that also asks something of a delivery, before the signature is looked at. */
export function withCheck(
  verification: Verification,
  { headers = [], check }: Check,
): Verification {
  return {
    ...verification,
    headers: [...verification.headers, ...headers],
    build(context) {
      const built = verification.build(context)
      return {
        ...built,
        verify(delivery) {
          const reason = check(delivery, context.options)
          return reason === undefined ? built.verify(delivery) : { ok: false, reason }
        },
      }
    },
  }
}
