/**
 * Requests that no honest sender makes: made up, forged with another secret, damaged after signing, or
 * put together from two. The same seed makes the same requests.
 *
 * @module
 */

import type { Delivery } from '../model/delivery.ts'
import type { EventMap, Source } from '../model/source.ts'
import type { Provider, StandardSpec, Verification } from '../providers/index.ts'
import { hostileValues } from './check-signatures.ts'
import { CHECKED_AT, identityOf, listReadHeaders, makeSubject, sampleKey } from './check-subject.ts'
import type { Problems, Subject } from './check-subject.ts'
import type { ProviderCase } from './provider-case.ts'
import { Random } from './random.ts'

export interface FuzzOptions {
  readonly requests: number
  readonly seed: number
}

export interface FuzzResult {
  /** How many were believed, all of them honest where it matters. None at all would be a poor mix. */
  readonly believed: number
  /** Throws and false accepts. */
  readonly problems: Problems
}

/** As many as a person would read. */
const PROBLEMS_MAX = 20

export async function fuzzProvider(
  provider: Provider<never, EventMap>,
  one: ProviderCase,
  { requests, seed }: FuzzOptions,
): Promise<FuzzResult> {
  const subject = makeSubject(provider as Provider<object>, one)
  const { source } = subject
  const honest = sampleDeliveries(subject, 'own')
  const forged = sampleDeliveries(subject, 'other')
  const isHonest = honestyOf(subject, honest, forged)
  const random = new Random(seed)
  const problems: string[] = []
  let believed = 0
  for (let n = 0; n < requests && problems.length < PROBLEMS_MAX; n++) {
    const delivery = makeRequest(random, source, honest, forged)
    const verdict = await judge(source, delivery)
    if (verdict === 'refused') continue
    if (verdict === 'believed') believed++
    if (verdict === 'believed' && isHonest(delivery)) continue
    problems.push(`request ${n} of seed ${seed}: ${verdict}: ${describe(delivery)}`)
  }
  return { believed, problems }
}

/** All that `admit` asks of a source, in its order; or what it threw. */
async function judge(source: Source, delivery: Delivery): Promise<string> {
  try {
    await source.handshake?.(delivery, 'unverified')
    const { ok } = await source.verify(delivery)
    await source.handshake?.(delivery, 'verified')
    if (!Array.isArray(source.identify(delivery))) return 'identify gave no list'
    return ok ? 'believed' : 'refused'
  } catch (error) {
    return `threw ${String(error)}`
  }
}

function sampleDeliveries(subject: Subject, which: 'own' | 'other'): readonly Delivery[] {
  const { one, types, deliver, provider } = subject
  return types
    .flatMap((type) =>
      [1, 2].map((n) => deliver({ type, key: sampleKey(one.fixture, n) }, subject[which])),
    )
    .flatMap((delivery) => [delivery, ...underOtherNames(provider.definition.verify, delivery)])
}

/** For senders of Standard Webhooks that know several names: the same delivery under each of them. */
function underOtherNames({ kind, spec }: Verification, delivery: Delivery): readonly Delivery[] {
  if (kind !== 'standard') return []
  const [first = '', ...others] = (spec as StandardSpec).names
  return others.map((name) => {
    const headers = Object.entries(delivery.headers).map(([header, value]) => [
      header.startsWith(`${first}-`) ? name + header.slice(first.length) : header,
      value,
    ])
    return { ...delivery, headers: Object.fromEntries(headers) as Delivery['headers'] }
  })
}

/** Whether all that a signature covers, and what shows the secret, is from an honest delivery. */
function honestyOf(
  { one, provider, source }: Subject,
  honest: readonly Delivery[],
  forged: readonly Delivery[],
): (delivery: Delivery) => boolean {
  const { uncovered = {} } = one
  const { signedHeaders } = provider.definition.verify
  const identitiesOf = (delivery: Delivery) =>
    source.identify(delivery).map((event) => `${event.type} ${identityOf(event)}`)
  const { bodyBytes, sameText } = uncovered
  const signedOf = ({ body }: Delivery) => sameText?.signed(Buffer.from(body).toString('utf8'))
  const hasSameBody = (a: Delivery, b: Delivery) =>
    Buffer.compare(a.body, b.body) === 0 ||
    // Fields are signed and not the bytes between them.
    (isForm(a) && isForm(b) && fieldsOf(a) === fieldsOf(b)) ||
    (sameText !== undefined && signedOf(a) === signedOf(b)) ||
    (bodyBytes !== undefined &&
      (bodyBytes.identifies === true
        ? hasTokensOf(a, b, bodyBytes.covers)
        : String(identitiesOf(a)) === String(identitiesOf(b))))
  // A header that was not signed this time may be there, but nothing may be read from it.
  const isIgnored = (delivery: Delivery, name: string) => {
    const { [name]: _, ...headers } = delivery.headers
    return String(identitiesOf({ ...delivery, headers })) === String(identitiesOf(delivery))
  }
  const proofs = listProofs(honest, forged)
  return (delivery) => {
    if (uncovered.body !== undefined) {
      const text = textOf(delivery)
      return proofs.some((proof) => text.includes(proof))
    }
    return honest.some(
      (each) =>
        hasSameBody(each, delivery) &&
        signedHeaders.every((name) =>
          name in each.headers
            ? String(each.headers[name]) === String(delivery.headers[name])
            : isIgnored(delivery, name),
        ),
    )
  }
}

/** The texts that only the secret makes: those of honest deliveries that forged ones lack. */
function listProofs(honest: readonly Delivery[], forged: readonly Delivery[]): readonly string[] {
  const tokensOf = (delivery: Delivery) => textOf(delivery).match(/[a-z0-9+/_-]{16,}/g) ?? []
  const known = new Set(forged.flatMap(tokensOf))
  return [...new Set(honest.flatMap(tokensOf))].filter((token) => !known.has(token))
}

/** Whether all the signed texts of an honest body are in another. Shorter ones are names of members. */
function hasTokensOf(
  honest: Delivery,
  other: Delivery,
  covers: (body: string, at: number) => boolean,
): boolean {
  const body = Buffer.from(honest.body).toString('latin1')
  const signed = Array.from(body, (letter, at) => (covers(body, at) ? ' ' : letter)).join('')
  const tokens = signed.toLowerCase().match(/[a-z0-9+/_-]{10,}/g) ?? []
  const text = textOf(other)
  return tokens.length > 0 && tokens.every((token) => text.includes(token))
}

/** In lower case: a hexadecimal signature may be written in capitals. */
function textOf({ url, headers, body }: Delivery): string {
  const query = [...new URLSearchParams(url.slice(url.indexOf('?') + 1)).values()]
  const parts = [...query, ...Object.values(headers), Buffer.from(body).toString('latin1')]
  return parts.join('\n').toLowerCase()
}

function isForm({ headers }: Delivery): boolean {
  return String(headers['content-type']).startsWith('application/x-www-form-urlencoded')
}

function fieldsOf({ body }: Delivery): string {
  return JSON.stringify([...new URLSearchParams(Buffer.from(body).toString('utf8'))].sort())
}

function makeRequest(
  random: Random,
  source: Source,
  honest: readonly Delivery[],
  forged: readonly Delivery[],
): Delivery {
  const dice = random.next()
  if (dice < 0.2) return makeUp(random, source, honest)
  if (dice < 0.3) return damage(random, source, random.pick(forged))
  if (dice < 0.4) return { ...random.pick(honest), body: random.pick(honest).body }
  if (dice < 0.5) return addHeader(random, source, random.pick(honest))
  let delivery = random.pick(honest)
  for (let left = random.between(1, 3); left > 0; left--)
    delivery = damage(random, source, delivery)
  return delivery
}

function makeUp(random: Random, source: Source, honest: readonly Delivery[]): Delivery {
  const names = [...source.securityHeaders, 'content-type', '__proto__', 'constructor']
  const entries = Array.from({ length: random.between(0, names.length) }, () => [
    random.pick(names),
    random.next() < 0.1 ? [madeUpText(random), madeUpText(random)] : madeUpText(random),
  ])
  return {
    method: random.pick(source.methods ?? ['POST']),
    url: random.next() < 0.8 ? '/' : `/?${madeUpText(random)}`,
    headers: Object.fromEntries(entries) as Delivery['headers'],
    body:
      random.next() < 0.5 ? random.pick(honest).body : Buffer.from(madeUpText(random), 'latin1'),
    receivedAt: CHECKED_AT,
  }
}

const SCRAPS = [
  'v1=', 'v1,', 'v0=', 'sha256=', 't=', ',', ';', ' ', '.', '|', '&', '=', '{', '}', '"', '[', ']',
  '1760000000', '1760000000000', '-1', 'NaN', '1e3', 'null', '\u0000', '\r\n', 'é', '\u{1f4a9}',
  'Bearer ', 'Basic ', 'eyJhbGciOiJub25lIn0', 'AAAA', 'deadbeef', '%', '%00', '../', '$.id', 'true',
] // prettier-ignore

function madeUpText(random: Random): string {
  const pieces = Array.from({ length: random.between(0, 12) }, () =>
    random.next() < 0.5
      ? random.pick(SCRAPS)
      : String.fromCharCode(random.between(0, random.next() < 0.8 ? 126 : 65_535)),
  )
  return pieces.join('')
}

/** One more header that the source reads: an unsigned header must not be taken for a signed one. */
function addHeader(random: Random, source: Source, delivery: Delivery): Delivery {
  const name = random.pick(source.securityHeaders)
  return { ...delivery, headers: { [name]: madeUpText(random), ...delivery.headers } }
}

function damage(random: Random, source: Source, delivery: Delivery): Delivery {
  const names = listReadHeaders(source, delivery)
  const dice = random.next()
  if (dice < 0.4) return { ...delivery, body: damageBytes(random, delivery.body) }
  if (dice < 0.45) return { ...delivery, url: `${delivery.url}?${madeUpText(random)}` }
  if (names.length === 0) return { ...delivery, body: damageBytes(random, delivery.body) }
  const name = random.pick(names)
  const { [name]: value, ...rest } = delivery.headers
  if (dice < 0.5) return { ...delivery, headers: rest }
  return { ...delivery, headers: { ...rest, [name]: damageText(random, value as string) } }
}

function damageText(random: Random, value: string): string | readonly string[] {
  const at = random.between(0, value.length)
  const scrap = random.next() < 0.5 ? random.pick(SCRAPS) : madeUpText(random)
  switch (random.between(0, 7)) {
    case 0:
      return value.slice(0, at) + scrap + value.slice(at)
    case 1:
      return value.slice(0, at) + value.slice(at + 1)
    case 2:
      return value.slice(0, at)
    case 3:
      return [value, value]
    case 4:
      return value === value.toLowerCase() ? value.toUpperCase() : value.toLowerCase()
    case 5:
      return value + value
    case 6:
      // The last three are as long as ten thousand signatures; the short ones find as much.
      return random.pick(hostileValues(value).slice(0, random.next() < 0.99 ? -3 : undefined))
    default: {
      const code = value.charCodeAt(at) ^ (1 << random.between(0, 6))
      return value.slice(0, at) + String.fromCharCode(code) + value.slice(at + 1)
    }
  }
}

function damageBytes(random: Random, body: Uint8Array): Uint8Array {
  const at = random.between(0, body.length)
  const bytes = Buffer.from(body)
  switch (random.between(0, 4)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])
    case 2: {
      const scrap = Buffer.from(random.pick(SCRAPS), 'utf8')
      return Buffer.concat([bytes.subarray(0, at), scrap, bytes.subarray(at)])
    }
    case 3:
      return Buffer.concat([bytes, bytes])
    default:
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.between(0, 7))
      return bytes
  }
}

function describe({ method, url, headers, body }: Delivery): string {
  const text = Buffer.from(body).toString('latin1')
  return JSON.stringify({ method, url, headers, body: text }).slice(0, 600)
}
