/**
 * The order of the checks, for every scheme that signs bytes:
 *
 *     headers ─▶ timestamp format ─▶ signature over the raw bytes ─▶ timestamp window ─▶ verdict
 *
 * The window comes after the signature, so that `stale` is only ever said of a delivery that the
 * sender did sign, and a wrong clock of ours can be told from a forger. Where it is not known whether
 * a sender's retry has a fresh time, a delivery outside of the window is not refused but kept for a person.
 *
 * Total: any headers and any bytes give a verdict, and nothing here throws
 * (`test/verify/properties.test.ts`).
 *
 * @module
 */

import type { Delivery } from '../model/delivery.ts'
import type { Verdict, VerdictReason } from '../model/source.ts'
import type { SignedPart, SignedTemplate } from './signed-template.ts'
import { findTimestampMs, isInWindow } from './timestamp.ts'
import type { TimestampRule } from './timestamp.ts'

/** What the headers of a delivery claim, none of it believed yet. */
export interface Claim {
  readonly signatures: readonly string[]
  /** Signatures that a public key checks, where a scheme has both kinds. */
  readonly publicSignatures?: readonly string[]
  /** The timestamp as text; `undefined` for a scheme that has none. */
  readonly timestamp?: string
}

export interface Scheme {
  readonly readClaim: (delivery: Delivery) => Claim | VerdictReason
  readonly timestamp: TimestampRule | undefined
  readonly signed: SignedTemplate
}

/** The label of the key that signed these parts, or `undefined` when none of ours did. */
export type FindSigner = (
  claim: Claim,
  signed: readonly SignedPart[],
  nowMs: number,
) => string | undefined

export function verifyDelivery(
  { readClaim, timestamp, signed }: Scheme,
  findSigner: FindSigner,
  delivery: Delivery,
): Verdict {
  const claim = readClaim(delivery)
  if (typeof claim === 'string') return refuse(claim)

  const nowMs = delivery.receivedAt.getTime()
  const sentMs = timestamp && findTimestampMs(claim.timestamp ?? '', timestamp.format)
  if (timestamp !== undefined && sentMs === undefined) return refuse('malformed-timestamp')

  const parts = signed.render(delivery, claim.timestamp ?? '')
  if (typeof parts === 'string') return refuse(parts)
  const signer = findSigner(claim, parts, nowMs)
  if (signer === undefined) return refuse('bad-signature')

  return judgeTime(signer, timestamp, sentMs, nowMs)
}

/** Whether a delivery that was signed is near enough to now. */
export function judgeTime(
  secret: string,
  rule: TimestampRule | undefined,
  sentMs: number | undefined,
  nowMs: number,
): Verdict {
  if (rule === undefined || isInWindow(sentMs ?? Number.NaN, nowMs, rule))
    return { ok: true, secret }
  return rule.outside === 'quarantine'
    ? { ok: true, secret, quarantine: 'outside the time window' }
    : refuse('stale')
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
