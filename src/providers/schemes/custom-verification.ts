import type { Verdict } from '../../model/source.ts'
import type { BuildContext, BuiltVerification, Verification } from './verification.ts'

/** What code of a provider's own has to say of itself: see `Verification` for each. */
export interface CustomSpec {
  readonly summary: string
  readonly headers?: readonly string[]
  readonly signedHeaders?: readonly string[]
  readonly signsBody: boolean
  readonly optionNames: readonly string[]
  readonly toleranceSeconds?: number
  readonly build: (context: BuildContext) => BuiltVerification
}

/**
 * Code of a provider's own, for schemes that are like no other. It may throw no more than the others
 * may; what it throws all the same is a refusal.
 */
export function customVerification({
  headers,
  signedHeaders,
  build,
  ...facts
}: CustomSpec): Verification {
  return {
    kind: 'custom',
    ...facts,
    headers: headers ?? [],
    signedHeaders: signedHeaders ?? [],
    build(context) {
      const built = build(context)
      return {
        ...built,
        verify(delivery) {
          try {
            const verdict = built.verify(delivery)
            return verdict instanceof Promise ? verdict.catch(refuse) : verdict
          } catch {
            return refuse()
          }
        },
      }
    },
  }
}

function refuse(): Verdict {
  return { ok: false, reason: 'bad-signature' }
}
