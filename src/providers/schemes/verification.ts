/**
 * What a provider's declaration says of how its deliveries are verified: data for the documents and the
 * test kit, and a function that turns it and the caller's options into a verdict.
 *
 * @module
 */

import type { Delivery } from '../../model/delivery.ts'
import type { Verdict } from '../../model/source.ts'
import type { ResolvedSecret } from '../../verify/secrets.ts'

/** How a provider's deliveries are verified. Made by a scheme such as `hmacSignature`. */
export interface Verification {
  readonly kind: VerificationKind
  /** The data it was made of; its shape goes by the kind. */
  readonly spec?: object
  /** For `first-present`. */
  readonly choices?: readonly Choice[]
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
  /** How old a delivery may be by default; `undefined` where no time is signed. */
  readonly toleranceSeconds?: number
  build(context: BuildContext): BuiltVerification
}

/** The shapes of schemes. All but `custom` can be signed with from their data (`testing/sign.ts`). */
export type VerificationKind =
  | 'hmac'
  | 'hash'
  | 'ed25519'
  | 'ecdsa'
  | 'rsa'
  | 'jwt'
  | 'token'
  | 'basic'
  | 'standard'
  | 'first-present'
  | 'custom'

/** One of several schemes, and the header whose presence chooses it. */
export interface Choice {
  readonly when: string
  readonly use: Verification
}

/** What a scheme is built from when a source is made. */
export interface BuildContext {
  /** The provider's slug, for messages. */
  readonly provider: string
  readonly options: Readonly<Record<string, unknown>>
}

/** A scheme with the caller's secrets and options in it. */
export interface BuiltVerification {
  readonly warnings: readonly string[]
  /** The shared secrets, for handshakes that answer with one; none for other schemes. */
  readonly secrets: readonly ResolvedSecret[]
  /** Every header it reads, where the caller's options decide that. */
  readonly headers?: readonly string[]
  /** Those of them that show a secret as it is, and are not kept. `authorization` never is. */
  readonly secretHeaders?: readonly string[]
  readonly verify: (delivery: Delivery) => Verdict | Promise<Verdict>
}
