/**
 * How a provider checks an endpoint before it uses it, as data:
 *
 *     { method: 'GET', when: 'query:challenge', answer: ({ find }) => textAnswer(find('query:challenge')) }
 *
 * A rule that is `signed` answers only what `verify` has believed. One that has a `token` answers only
 * a caller that shows it, and refuses every other.
 *
 * @module
 */

import { createHmac } from 'node:crypto'
import type { Delivery } from '../model/delivery.ts'
import type { HandshakeAnswer, HandshakeResult, HandshakeStage } from '../model/source.ts'
import { Reading } from '../body/json-path.ts'
import { compilePlace } from '../body/place.ts'
import type { Place } from '../body/place.ts'
import { isLive } from '../verify/secrets.ts'
import type { ResolvedSecret } from '../verify/secrets.ts'
import { findTokenOwner, isSameText } from '../verify/token.ts'

/** One way in which a provider checks an endpoint, and what it wants to hear. */
export interface HandshakeRule {
  /** For the provider's page: what it sends and what it wants to hear. */
  readonly summary: string
  /** @defaultValue 'POST' */
  readonly method?: 'GET' | 'HEAD' | 'POST'
  /** Something that must be there, or must be this text. Left out, every request of the method is one. */
  readonly when?: string | readonly [place: string, text: string]
  /**
   * Whether the provider signs it. It is then verified first, like any delivery.
   *
   * @defaultValue false
   */
  readonly signed?: boolean
  /** A token that must be shown: where, and the option that has it (or `secrets`). */
  readonly token?: { readonly at: string; readonly option: string }
  /** `undefined` for what turns out to be no handshake. */
  readonly answer: (context: HandshakeContext) => HandshakeResult | Promise<HandshakeResult>
}

/** What the answer to a handshake can be made of. */
export interface HandshakeContext {
  readonly delivery: Delivery
  readonly options: Readonly<Record<string, unknown>>
  /** The text at a place of the request, `''` when there is none. */
  readonly find: (place: string) => string
  /** HMAC with the first secret that is live, for challenges that ask us to prove that we have it. */
  readonly hmac: (algorithm: 'sha1' | 'sha256', text: string, encoding: 'hex' | 'base64') => string
}

/** A 200 with this text, which no browser reads as HTML. */
export function textAnswer(
  body: string,
  headers: Readonly<Record<string, string>> = {},
): HandshakeAnswer {
  // What is echoed is the requester's text: a browser must not read it as HTML.
  const safe = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  return { status: 200, headers: { ...safe, ...headers }, body }
}

/** A 200 with this object as JSON. */
export function jsonAnswer(body: object): HandshakeAnswer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

/** An answer without a body. */
export function emptyAnswer(
  status: 200 | 204 = 200,
  headers: Readonly<Record<string, string>> = {},
): HandshakeAnswer {
  return { status, headers, body: '' }
}

/** What the rules answer at a stage. Methods that carry no events belong to handshakes alone. */
export function compileHandshake(
  provider: string,
  rules: readonly HandshakeRule[],
  {
    eventMethods,
    options,
    secrets,
  }: {
    readonly eventMethods: readonly string[]
    readonly options: Readonly<Record<string, unknown>>
    readonly secrets: readonly ResolvedSecret[]
  },
): (delivery: Delivery, stage: HandshakeStage) => Promise<HandshakeResult> | HandshakeResult {
  const compiled = rules.map((rule) => compileRule(provider, rule, options, secrets))
  return async (delivery, stage) => {
    try {
      const reading = new Reading(stage === 'verified' ? delivery : withSmallBody(delivery))
      for (const { rule, matches, isTrusted } of compiled) {
        const isTurn = (rule.signed === true) === (stage === 'verified')
        if (!isTurn || (rule.method ?? 'POST') !== delivery.method || !matches(reading)) continue
        if (!isTrusted(reading)) return 'refuse'
        const answer = await rule.answer(contextOf(reading, options, secrets))
        if (answer !== undefined) return answer
      }
    } catch {
      return 'refuse'
    }
    // With a signed rule for the method it is `verify` that decides.
    const isSignedMethod = rules.some(
      ({ signed, method }) => signed === true && method === delivery.method,
    )
    return stage === 'verified' || isSignedMethod || eventMethods.includes(delivery.method)
      ? undefined
      : 'refuse'
  }
}

/** An unsigned handshake is short: Notion's has a hundred bytes. */
const UNSIGNED_BYTES_MAX = 16_384

/** A larger body is no unsigned handshake, and is not read to find that out. */
function withSmallBody(delivery: Delivery): Delivery {
  const isSmall = delivery.body.byteLength <= UNSIGNED_BYTES_MAX
  return isSmall ? delivery : { ...delivery, body: new Uint8Array(0) }
}

function compileRule(
  provider: string,
  rule: HandshakeRule,
  options: Readonly<Record<string, unknown>>,
  secrets: readonly ResolvedSecret[],
) {
  const [at, text] = typeof rule.when === 'string' ? [rule.when, undefined] : (rule.when ?? [])
  const place = at === undefined ? undefined : compilePlace(`${provider}.handshake`, at)
  const tokenPlace = rule.token && compilePlace(`${provider}.handshake`, rule.token.at)
  return {
    rule,
    matches: (reading: Reading): boolean => {
      if (place === undefined) return true
      const found = place.find(reading)
      return text === undefined ? found !== undefined : found === text
    },
    isTrusted: (reading: Reading): boolean => {
      if (tokenPlace === undefined || rule.token === undefined) return true
      const shown = tokenPlace.find(reading) ?? ''
      const expected = options[rule.token.option]
      if (typeof expected === 'string') return isSameText(shown, expected)
      const nowMs = reading.delivery.receivedAt.getTime()
      return findTokenOwner(secrets, Buffer.from(shown, 'utf8'), nowMs) !== undefined
    },
  }
}

function contextOf(
  reading: Reading,
  options: Readonly<Record<string, unknown>>,
  secrets: readonly ResolvedSecret[],
): HandshakeContext {
  const { delivery } = reading
  return {
    delivery,
    options,
    find: (place: Place & string) => compilePlace('handshake', place).find(reading) ?? '',
    hmac(algorithm, text, encoding) {
      const secret = secrets.find((one) => isLive(one, delivery.receivedAt.getTime()))
      // Without a live secret nothing may be proven; the caller's rule is refused.
      if (secret === undefined) throw new Error('No secret is live')
      return createHmac(algorithm, secret.key).update(text, 'utf8').digest(encoding)
    },
  }
}
