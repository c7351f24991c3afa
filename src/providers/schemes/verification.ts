/**
 * What a provider's declaration says of how its deliveries are verified: data for the documents and the
 * test kit, and a function that turns it and the caller's options into a verdict.
 *
 * @module
 */

import type { Delivery } from '../../model/delivery.ts'
import type { Verdict } from '../../model/source.ts'
import type { ResolvedSecret } from '../../verify/secrets.ts'
import type { JwtSpec } from './jwt-signature.ts'
import type { PublicKeySpec } from './public-key-signature.ts'
import type { RsaSpec } from './rsa-signature.ts'
import type { HashSpec, HmacSpec } from './hmac-signature.ts'
import type { TokenSpec } from './shared-token.ts'
import type { StandardSpec } from './standard-signature.ts'

export interface VerificationFacts {
  /** For people: `HMAC-SHA256 in hex`. */
  readonly summary: string
  /** Every header it reads, in lower case. */
  readonly headers: readonly string[]
  /** Those of them whose value the signature covers. */
  readonly signedHeaders: readonly string[]
  /** Whether the body's bytes are covered by a signature. */
  readonly signsBody: boolean
  /** The names of the options it takes. */
  readonly optionNames: readonly string[]
  /** How old a delivery may be by default; `null` for any age, `undefined` where no time is signed. */
  readonly toleranceSeconds?: number | null
  build(context: BuildContext): BuiltVerification
}

/** The kinds whose data is enough to sign with (`testing/sign.ts`), and code of a provider's own. */
export type Verification = VerificationFacts &
  (
    | { readonly kind: 'hmac'; readonly spec: HmacSpec }
    | { readonly kind: 'hash'; readonly spec: HashSpec }
    | { readonly kind: 'ed25519' | 'ecdsa'; readonly spec: PublicKeySpec }
    | { readonly kind: 'rsa'; readonly spec: RsaSpec }
    | { readonly kind: 'jwt'; readonly spec: JwtSpec }
    | { readonly kind: 'token'; readonly spec: TokenSpec }
    | { readonly kind: 'basic' }
    | { readonly kind: 'standard'; readonly spec: StandardSpec }
    | { readonly kind: 'first-present'; readonly choices: readonly Choice[] }
    | { readonly kind: 'custom' }
  )

/** One of several schemes, and the header whose presence chooses it. */
export interface Choice {
  readonly when: string
  readonly use: Verification
}

export interface BuildContext {
  /** The provider's slug, for messages. */
  readonly provider: string
  readonly options: Readonly<Record<string, unknown>>
}

export interface BuiltVerification {
  readonly warnings: readonly string[]
  /** The shared secrets, for handshakes that answer with one; none for other schemes. */
  readonly secrets: readonly ResolvedSecret[]
  readonly verify: (delivery: Delivery) => Verdict | Promise<Verdict>
}
