/**
 * What every provider must keep, from its declaration, its fixture and a few words of its case.
 *
 * @module
 */

import { createHash, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { HandshakeResult, IdentifiedEvent, Source, Verdict } from '../../src/model/source.ts'
import type { Provider, Verification } from '../../src/providers/index.ts'
import { draftEvent } from '../../src/receive/identity.ts'
import { sign } from '../../src/testing/index.ts'
import type { Credentials, ProviderFixture, SignedEvent } from '../../src/testing/index.ts'

export interface ProviderCase {
  readonly fixture: ProviderFixture
  /** Options beside those that the scheme needs, which are made up. */
  readonly options?: object
  /** Options and credentials in place of made-up ones, where a scheme's are like no other. */
  readonly configuration?: Configuration
  /** The same with other secrets. Needed where `configuration` is given. */
  readonly otherConfiguration?: Configuration
  /** What the scheme does not cover, and why that is safe. */
  readonly uncovered?: Uncovered
  /**
   * A retry as the provider makes it, of a delivery that `resign` can sign anew after a change.
   *
   * @defaultValue the same event, signed anew a minute later
   */
  readonly retryOf?: (delivery: Delivery, resign: Resign) => Delivery
  /**
   * Whether a retry that is signed anew is the same event.
   *
   * @defaultValue true
   */
  readonly retryIsSameEvent?: false
  /** For providers that put several events into one delivery: the body of a delivery with these. */
  readonly batch?: (keys: readonly string[], at: Date) => unknown
  readonly handshakes?: readonly HandshakeCase[]
}

export interface Uncovered {
  /** Why the whole body may change, for schemes that sign none of it. */
  readonly body?: string
  /** Why some bytes of the body may change: those for which this is true. */
  readonly bodyBytes?: {
    readonly why: string
    readonly covers: (body: string, at: number) => boolean
  }
  /** Why the value of a header may change, by its name. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface HandshakeCase {
  readonly name: string
  /** A delivery; one that is signed is made with `signed`. */
  readonly deliver: (signed: (event: SignedEvent) => Delivery) => Partial<Delivery>
  readonly answer:
    { readonly status: number; readonly body?: string; readonly headers?: object } | 'refuse'
  readonly options?: object
}

export interface Configuration {
  readonly options: object
  readonly credentials: Credentials
}

/** Signs a body anew, as the provider would at that time. */
export type Resign = (change: {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly afterSeconds?: number
}) => Delivery

const NOW = new Date(1_760_000_000_000)

export function everyProvider(slug: string, provider: Provider<object>, one: ProviderCase): void {
  const own = one.configuration ?? configure(provider.definition.verify, 0)
  const other = one.otherConfiguration ?? configure(provider.definition.verify, 1)
  const make = ({ options }: Configuration, more: object = {}): Source =>
    provider({ ...options, ...one.options, ...more })
  const source = make(own)
  const deliver = (event: SignedEvent = {}, { credentials } = own): Delivery =>
    sign(one.fixture, { at: NOW, key: keyOf(one.fixture, 1), ...event }, credentials)
  const subject: Subject = { one, own, other, make, source, deliver }

  describe(slug, () => {
    signedCases(subject, provider)
    coveredCases(subject)
    hostileCases(subject)
    identityCases(subject)
    if (one.batch !== undefined) batchCases(subject, one.batch)
    if (one.handshakes !== undefined) handshakeCases(subject, one.handshakes)
    test.runIf(one.handshakes === undefined)('has no handshake without a case', () => {
      expect(provider.definition.handshake).toBeUndefined()
    })
    test.runIf(one.batch === undefined)('has no batch without a case', () => {
      expect(provider.definition.batch).toBeUndefined()
    })
  })
}

interface Subject {
  readonly one: ProviderCase
  readonly own: Configuration
  readonly other: Configuration
  readonly make: (configuration: Configuration, more?: object) => Source
  readonly source: Source
  readonly deliver: (event?: SignedEvent, configuration?: Configuration) => Delivery
}

function signedCases(
  { one, own, other, make, source, deliver }: Subject,
  { definition }: Provider<object>,
): void {
  test.each(Object.keys(one.fixture.events))(
    'believes a signed %s and knows its type',
    async (type) => {
      const delivery = deliver({ type })

      expect(await source.verify(delivery)).toMatchObject({ ok: true })
      const [event] = source.identify(delivery)
      expect(event?.type).toBe(type)
      expect(event?.key).toMatch(/^.+$/)
    },
  )

  test('refuses what was signed with another secret', async () => {
    expect(await make(other).verify(deliver())).toMatchObject({ ok: false })
    expect(await source.verify(deliver({}, other))).toMatchObject({ ok: false })
  })

  test('cannot be made with empty or missing credentials', () => {
    const names = Object.keys(own.options).filter((name) => name !== 'publicUrl')
    for (const name of names) {
      const value = (own.options as Record<string, unknown>)[name]
      const empties = Array.isArray(value) ? [[], ['']] : ['']
      // Without a certificate it is fetched from the provider. What a provider need not be given may
      // be missing, and may not be empty.
      const rule = definition.options?.[name]
      const isOptional = rule !== undefined && rule.isRequired !== true
      const missing = name === 'certificate' || isOptional ? [] : [undefined]
      for (const empty of [...empties, ...missing]) {
        expect(() => make({ ...own, options: { ...own.options, [name]: empty } })).toThrow()
      }
    }
    expect(names).not.toEqual([])
  })
}

function coveredCases({ one, source, deliver }: Subject): void {
  const { body: bodyReason, bodyBytes, headers: headerReasons = {} } = one.uncovered ?? {}

  test(
    bodyReason === undefined
      ? 'refuses the body with any one byte changed'
      : `does not cover the body: ${bodyReason}`,
    async () => {
      for (const type of Object.keys(one.fixture.events)) {
        const delivery = deliver({ type })
        const text = Buffer.from(delivery.body).toString('latin1')
        for (const at of spread(delivery.body.byteLength)) {
          const changed = Buffer.from(delivery.body)
          changed[at] = (changed[at] ?? 0) ^ 1
          const { ok } = await source.verify({ ...delivery, body: changed })
          if (bodyReason !== undefined) continue
          if (bodyBytes?.covers(text, at) === true) continue
          expect([type, at, text.slice(Math.max(0, at - 20), at + 5), ok]).toEqual([
            type,
            at,
            expect.anything(),
            false,
          ])
        }
        expect(await source.verify({ ...delivery, body: Buffer.from('other') })).toMatchObject({
          ok: bodyReason !== undefined,
        })
      }
    },
  )

  test('refuses any signed header with one character changed, and says why others may change', async () => {
    const delivery = deliver()
    const changeable: string[] = []
    for (const name of presentHeaders(source, delivery)) {
      const value = delivery.headers[name] as string
      for (const at of spread(value.length)) {
        const changed =
          value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ 1) + value.slice(at + 1)
        const { ok } = await source.verify(withHeader(delivery, name, changed))
        if (ok && !changeable.includes(name)) changeable.push(name)
      }
    }

    expect(changeable.sort()).toEqual(
      Object.keys(headerReasons)
        .filter((name) => name in delivery.headers)
        .sort(),
    )
  })
}

/** Values for a security header that no sender writes. */
function hostileValues(value: string): readonly (string | readonly string[])[] {
  return [
    '',
    'v1,',
    'v1=',
    't=NaN,v1=',
    'NaN',
    '-1',
    '1e3',
    'é\u{1f4a9}',
    value.slice(0, -1),
    `${value}A`,
    `A${value}`,
    [value, value],
    Array<string>(10_000)
      .fill(`v1=${'0'.repeat(64)}`)
      .join(','),
    Array<string>(10_000)
      .fill(`v1,${'A'.repeat(43)}=`)
      .join(' '),
    `${Array<string>(10_000).fill(value).join(';')};`,
  ]
}

function hostileCases({ one, source, deliver }: Subject): void {
  test('refuses hostile values of signed headers, without a throw', async () => {
    const delivery = deliver()
    const free = Object.keys(one.uncovered?.headers ?? {})
    for (const name of presentHeaders(source, delivery)) {
      for (const value of hostileValues(delivery.headers[name] as string)) {
        const { ok } = await source.verify(withHeader(delivery, name, value))
        if (!free.includes(name)) expect([name, value, ok]).toEqual([name, value, false])
      }
      const { [name]: _, ...rest } = delivery.headers
      const { ok } = await source.verify({ ...delivery, headers: rest })
      if (!free.includes(name)) expect([name, 'absent', ok]).toEqual([name, 'absent', false])
    }
  })

  test('judges any headers and any body without a throw, and believes none', async () => {
    const names = [...source.securityHeaders, 'content-type', '__proto__', 'constructor']
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.array(fc.string(), { maxLength: 3 }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...names), value)),
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        async (entries, body) => {
          const headers = Object.fromEntries(entries) as Delivery['headers']
          const delivery = { method: 'POST', url: '/', headers, body, receivedAt: NOW }
          expect((await source.verify(delivery)).ok).toBe(false)
          expect(source.identify(delivery)).toEqual(expect.any(Array))
          await source.handshake?.(delivery, 'unverified')
          await source.handshake?.(delivery, 'verified')
        },
      ),
      { numRuns: 50 },
    )
  })
}

function identityCases({ one, own, source, deliver }: Subject): void {
  const types = Object.keys(one.fixture.events)

  test('gives the same event the same key, twice', () => {
    for (const type of types) {
      expect(identitiesOf(source, deliver({ type }))).toEqual(
        identitiesOf(source, deliver({ type })),
      )
    }
  })

  test('gives two events two keys', () => {
    for (const type of types) {
      const keys = [1, 2].map((n) =>
        identityOf(source.identify(deliver({ type, key: keyOf(one.fixture, n) }))[0]),
      )
      expect(keys[0]).not.toEqual(keys[1])
    }
  })

  test('does not keep a secret that came with the request', () => {
    const { secret = '' } = own.credentials
    if (secret === '') return
    const shown = [secret, Buffer.from(secret).toString('base64')]
    for (const type of types) {
      const delivery = deliver({ type })
      for (const identified of source.identify(delivery)) {
        const context = { sourceName: 'source', source, delivery, secret: 'label' }
        const { body, headers } = draftEvent(context, identified)
        const kept = Buffer.from(body).toString() + JSON.stringify(headers)

        for (const text of shown) expect(kept).not.toContain(text)
      }
    }
  })

  test(
    one.retryIsSameEvent === false
      ? 'takes a retry that was signed anew for another event'
      : 'knows a retry as the provider makes it, by key and by content',
    async () => {
      for (const type of types) {
        const delivery = deliver({ type })
        const resign: Resign = ({ body, headers, afterSeconds = 60 }) => {
          // The event's own time stays what it was; only the sending is later.
          const event = { type, body: body ?? Buffer.from(delivery.body), headers: { ...headers } }
          return deliver({ ...event, at: new Date(NOW.getTime() + afterSeconds * 1000) })
        }
        const retry = one.retryOf?.(delivery, resign) ?? resign({})

        expect(await source.verify(retry)).toMatchObject({ ok: true })
        const [before, after] = [delivery, retry].map((each) => fingerprintsOf(source, each))
        if (one.retryIsSameEvent === false) expect(after).not.toEqual(before)
        else expect(after).toEqual(before)
      }
    },
  )
}

function batchCases(
  { one, source, deliver }: Subject,
  batch: NonNullable<ProviderCase['batch']>,
): void {
  const keys = [1, 2, 3, 4].map((n) => keyOf(one.fixture, n))
  const deliverBatch = (some: readonly string[], afterSeconds = 0): Delivery =>
    deliver({ body: batch(some, NOW), at: new Date(NOW.getTime() + afterSeconds * 1000) })

  test('makes three events of three, each with a body of its own, and none of none', async () => {
    const delivery = deliverBatch(keys.slice(0, 3))
    const events = source.identify(delivery)

    expect(await source.verify(delivery)).toMatchObject({ ok: true })
    expect(new Set(events.map((event) => JSON.stringify(identityOf(event)))).size).toBe(3)
    expect(new Set(events.map(({ body }) => Buffer.from(body ?? []).toString())).size).toBe(3)
    for (const { body } of events) JSON.parse(Buffer.from(body ?? []).toString())
    expect(source.identify(deliverBatch([]))).toEqual([])
  })

  test.runIf(one.retryIsSameEvent === false)('finds all events of a retry new', () => {
    const first = fingerprintsOf(source, deliverBatch(keys.slice(0, 3)))
    const retry = fingerprintsOf(source, deliverBatch(keys.slice(0, 3), 60))

    expect(retry).toHaveLength(3)
    for (const event of retry) expect(first).not.toContainEqual(event)
  })

  test.runIf(one.retryIsSameEvent !== false)(
    'finds the events of a retry known, and of a regrouped one only the new ones new',
    () => {
      const first = fingerprintsOf(source, deliverBatch(keys.slice(0, 3)))

      expect(fingerprintsOf(source, deliverBatch(keys.slice(0, 3), 60))).toEqual(first)
      const regrouped = fingerprintsOf(source, deliverBatch(keys.slice(1), 60))
      expect(regrouped.slice(0, 2)).toEqual(first.slice(1))
      expect(first).not.toContainEqual(regrouped[2])
    },
  )
}

function handshakeCases(
  { own, make, deliver }: Subject,
  handshakes: readonly HandshakeCase[],
): void {
  test.each(handshakes)('handshake: $name', async ({ deliver: write, answer, options }) => {
    const made = make(own, options)
    const written = write((event) => deliver(event))
    const delivery: Delivery = {
      method: 'POST',
      url: '/',
      headers: {},
      body: new Uint8Array(),
      receivedAt: NOW,
      ...written,
    }
    const result = await greet(made, delivery)

    expect(made.methods).toContain(delivery.method)
    if (answer === 'refuse') expect(result).toBe('refuse')
    else expect(result).toMatchObject(answer)
  })
}

/** As the door does it: before the signature, the signature, after it. */
async function greet(source: Source, delivery: Delivery): Promise<HandshakeResult> {
  const first = await source.handshake?.(delivery, 'unverified')
  if (first !== undefined) return first
  const verdict: Verdict = await source.verify(delivery)
  return verdict.ok ? source.handshake?.(delivery, 'verified') : 'refuse'
}

function identityOf(event: IdentifiedEvent | undefined) {
  return { key: event?.key, scope: event?.scope }
}

function identitiesOf(source: Source, delivery: Delivery) {
  return source.identify(delivery).map(identityOf)
}

/** What the store knows an event and its content by. */
function fingerprintsOf(source: Source, delivery: Delivery) {
  return source.identify(delivery).map((event) => ({
    ...identityOf(event),
    content: createHash('sha256')
      .update(event.content ?? event.body ?? delivery.body)
      .digest('hex'),
  }))
}

function presentHeaders(source: Source, delivery: Delivery): readonly string[] {
  return source.securityHeaders.filter((name) => typeof delivery.headers[name] === 'string')
}

function withHeader(delivery: Delivery, name: string, value: string | readonly string[]): Delivery {
  return { ...delivery, headers: { ...delivery.headers, [name]: value } }
}

/** Every place of something short, and eighty of something long. */
function spread(length: number): readonly number[] {
  const step = Math.max(1, length / 80)
  return Array.from({ length: Math.min(length, 80) }, (_, index) => Math.floor(index * step))
}

/** The same keys in every run, in the provider's own shape. */
function keyOf({ freshKey }: ProviderFixture, n: number): string {
  const sample = freshKey?.() ?? '00000000-0000-4000-8000-000000000000'
  if (/^\d+$/.test(sample)) return String(820_982_911 + n)
  const prefix = /^[a-z]+_/.exec(sample)?.[0] ?? ''
  return freshKey === undefined ? `${sample.slice(0, -1)}${n}` : `${prefix}sample${n}`
}

const SECRETS = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD']

/** Options and credentials that belong together, by the names of the options that a scheme takes. */
function configure({ optionNames, kind }: Verification, which: 0 | 1): Configuration {
  const has = (name: string) => optionNames.includes(name)
  const secret = kind === 'basic' ? `user:${SECRETS[which]}` : (SECRETS[which] as string)
  const publicUrl = 'https://example.com/in/source'
  const url = has('publicUrl') ? { publicUrl } : {}
  if (has('secrets'))
    return { options: { secrets: [secret], ...url }, credentials: { secret, ...url } }
  const pair = keyPair(
    has('publicKey') ? (kind === 'ed25519' ? 'ed25519' : 'ec') : has('jwk') ? 'ec' : 'rsa',
    which,
  )
  const credentials = { privateKey: pair.privateKey, ...url }
  if (has('jwk'))
    return { options: { jwk: pair.publicKey.export({ format: 'jwk' }), ...url }, credentials }
  const pem = pair.publicKey.export({ format: 'pem', type: 'spki' })
  return { options: { [has('publicKey') ? 'publicKey' : 'certificate']: pem, ...url }, credentials }
}

const PAIRS = new Map<string, { publicKey: KeyObject; privateKey: KeyObject }>()

export function keyPair(kind: 'ed25519' | 'ec' | 'rsa', which: 0 | 1) {
  const name = `${kind}-${which}`
  const made =
    PAIRS.get(name) ??
    (kind === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 }))
  PAIRS.set(name, made)
  return made
}
