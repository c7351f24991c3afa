/**
 * Why a signature does not hold. The source says which check failed; what may be behind that is found by trying: the
 * body as it may have been, the secret without what copying adds to it, the secrets of other sources.
 *
 * No text of this file has any part of a secret in it.
 *
 * @module
 */

import type { Delivery, Source, VerdictReason } from '../../index.ts'
import { findHeader } from '../../model/delivery.ts'
import { formatSpan, formatTime } from '../output/times.ts'
import { listFormerBodies } from './changed-bodies.ts'
import { describeSecret, listMeantSecrets } from './meant-secrets.ts'

/** What is known of the sender, beside its source. */
export interface Suspect {
  readonly source: Source
  /** The secrets as they were given. */
  readonly secrets: readonly string[]
  /** The same source with another secret; `undefined` where that is none. */
  readonly withSecret: (secret: string) => Source | undefined
  /** Other sources that it may have been meant for. */
  readonly others: ReadonlyMap<string, Source>
}

/** What was found out. */
export interface Explanation {
  readonly ok: boolean
  /** By which secret it was verified: its label. */
  readonly verifiedBy?: string
  readonly reason?: VerdictReason | 'outside the time window'
  /** What is wrong, in words. */
  readonly problem?: string
  /** What may be behind it, and what to do, most certain first. */
  readonly hints: readonly string[]
}

export async function explainSignature(suspect: Suspect, delivery: Delivery): Promise<Explanation> {
  const { source } = suspect
  const verdict = await source.verify(delivery)
  if (verdict.ok) {
    const { secret: verifiedBy, quarantine } = verdict
    if (quarantine === undefined) return { ok: true, verifiedBy, hints: [] }
    const hints = [
      await describeAge(source, delivery),
      'Its events are quarantined, and do not run by themselves.',
    ]
    return {
      ok: false,
      verifiedBy,
      reason: 'outside the time window',
      problem: `It is signed, and ${quarantine}.`,
      hints,
    }
  }
  const { reason } = verdict
  return {
    ok: false,
    reason,
    problem: PROBLEMS[reason],
    hints: await findHints(suspect, delivery, reason),
  }
}

const PROBLEMS: Readonly<Record<VerdictReason, string>> = {
  'missing-header': 'A header that carries the signature is missing.',
  'malformed-header': 'The header with the signature does not look as this provider writes it.',
  'malformed-timestamp': 'The signed time is not written as this provider writes it.',
  stale: 'The signature holds, and its time is too far from now.',
  'bad-signature': 'The signature is not that of these bytes under this secret.',
  'bad-token': 'The token or password is not ours.',
  'unknown-key': 'The sender has no such key or certificate as the signature names.',
  'key-unavailable': "The sender's key could not be fetched now.",
  'malformed-body': 'What the signature needs to be in the body is not there.',
}

async function findHints(
  suspect: Suspect,
  delivery: Delivery,
  reason: VerdictReason,
): Promise<readonly string[]> {
  const { source } = suspect
  switch (reason) {
    case 'missing-header':
      return describeMissing(source, delivery)
    case 'stale':
      return [
        await describeAge(source, delivery),
        'Is the clock of this machine right? A delivery that was captured is refused for the same reason.',
      ]
    case 'bad-signature':
    case 'bad-token':
      return explainMismatch(suspect, delivery)
    case 'key-unavailable':
      return [
        'Can this machine reach the sender? Try again: the sender would have been answered 503.',
      ]
    default:
      return [
        `It reads the headers ${source.securityHeaders.join(', ')}.`,
        'Is the provider the right one for this sender?',
      ]
  }
}

function describeMissing(source: Source, { headers }: Delivery): readonly string[] {
  const missing = source.securityHeaders.filter((name) => headers[name] === undefined)
  const there = Object.keys(headers).filter((name) => /sign|hmac|token|webhook/i.test(name))
  return [
    `Not there: ${missing.join(', ') || 'none of its headers'}.`,
    ...(there.length > 0
      ? [`There is ${there.join(', ')}: is the provider the right one for this sender?`]
      : ['Does a proxy take headers away, or was the request sent by hand?']),
  ]
}

/** By how much it is too old. The time is the one at which the signature would have held. */
async function describeAge(source: Source, delivery: Delivery): Promise<string> {
  const now = delivery.receivedAt
  for (const signedAt of listTimes(source, delivery)) {
    const verdict = await source.verify({ ...delivery, receivedAt: signedAt })
    if (!verdict.ok || verdict.quarantine !== undefined) continue
    const ms = now.getTime() - signedAt.getTime()
    const span = formatSpan(Math.abs(ms))
    return `It was signed ${formatTime(signedAt, now)}: ${ms < 0 ? `${span} ahead of now` : `${span} old`}.`
  }
  return 'The time that was signed could not be read.'
}

function listTimes(source: Source, delivery: Delivery): readonly Date[] {
  const texts = source.securityHeaders.flatMap((name) => findHeader(delivery, name) ?? [])
  const numbers = texts.flatMap((text) => text.match(/\b\d{10}(?:\d{3})?\b/g) ?? [])
  const dates = texts.flatMap(
    (text) => text.match(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/g) ?? [],
  )
  return [
    ...numbers.map((digits) => new Date(Number(digits) * (digits.length === 10 ? 1_000 : 1))),
    ...dates.map((text) => new Date(text)),
  ].filter((time) => !Number.isNaN(time.getTime()))
}

async function explainMismatch(suspect: Suspect, delivery: Delivery): Promise<readonly string[]> {
  const { source, secrets, others } = suspect
  for (const { what, body } of listFormerBodies(delivery.body))
    if (await holds(source, { ...delivery, body }))
      return [
        `The body was changed on its way: ${what}. The signature holds for the body before that.`,
        'Verify the bytes as they came: no parser, body middleware or editor may have them first.',
      ]
  for (const { what, secret } of listMeantSecrets(secrets)) {
    const meant = suspect.withSecret(secret)
    if (meant !== undefined && (await holds(meant, delivery)))
      return [
        `The secret is not the one that was meant: ${what}. Without that the signature holds.`,
      ]
  }
  for (const [name, other] of others)
    if (await holds(other, delivery))
      return [
        `It is signed with the secret of the source "${name}". Is it delivered to the wrong URL?`,
      ]
  return [
    ...describeBody(delivery),
    ...secrets.flatMap((secret) => describeSecret(source.provider, secret, delivery.body) ?? []),
    'The secret is another one than the sender signs with (of another endpoint, account, or of test mode), or the body is not the one that was signed.',
  ]
}

/** What shows that it is not the whole body that was signed. */
function describeBody(delivery: Delivery): readonly string[] {
  const { byteLength } = delivery.body
  if (byteLength === 0)
    return ['The body is empty: has something read it before, or is it missing in the file?']
  const said = findHeader(delivery, 'content-length') ?? ''
  if (/^\d+$/.test(said) && Number(said) !== byteLength)
    return [
      `Its header says that it has ${said} bytes, and there are ${byteLength}: it was cut, or written anew.`,
    ]
  return []
}

/** Whether the sender has signed it, at whatever time. */
async function holds(source: Source, delivery: Delivery): Promise<boolean> {
  const verdict = await source.verify(delivery)
  return verdict.ok || verdict.reason === 'stale'
}
