import { describe, expect, test } from 'vitest'
import { hmac } from '../../src/providers/index.ts'
import type { HmacOptions } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { identityOf, makeSubject, sampleKey } from '../../src/testing/check-subject.ts'
import { findCase } from './find-case.ts'
import { HMAC_OPTIONS, NOW, SECRET, SIGNED_SOURCES, verdictOf } from './signed-sources.ts'
import { PROVIDERS } from './vector.ts'

describe('the kit', () => {
  test.each(SIGNED_SOURCES)(
    'gives $name a delivery with the key it was asked for',
    ({ source, deliver }) => {
      expect(source().identify(deliver({ key: 'key-1' }))[0]?.key).toBe('key-1')
    },
  )

  test.each(['stripe', 'github', 'shopify', 'standardWebhooks'] as const)(
    'makes every %s delivery another event with other bytes',
    (kind) => {
      const [one, two] = [sign(kind, {}, { secret: SECRET }), sign(kind, {}, { secret: SECRET })]
      const identify = SIGNED_SOURCES.find(({ name }) => name === kind)!.source().identify

      expect(identify(one)[0]?.key).not.toBe(identify(two)[0]?.key)
      // A signed id makes two events of equal bytes; without one they would be held back.
      if (kind !== 'standardWebhooks') expect(Buffer.compare(one.body, two.body)).not.toBe(0)
    },
  )

  test('sends a body as it is given, be it an object, a text or bytes', () => {
    const bodyOf = (body: unknown) =>
      Buffer.from(sign('stripe', { body }, { secret: SECRET }).body).toString()

    expect(bodyOf({ id: 'x', a: 1 })).toBe('{"id":"x","a":1}')
    expect(bodyOf('{ }')).toBe('{ }')
    expect(bodyOf(Buffer.from('[ ]'))).toBe('[ ]')
  })

  test('puts key and type into an object for hmac, where its options say', () => {
    const body = { type: 'x', a: 1 }
    const signed = sign('hmac', { type: 't', body }, HMAC_OPTIONS)

    expect(Buffer.from(signed.body).toString()).toBe('{"type":"t","a":1}')
    expect(body.type).toBe('x')
  })

  test('leaves a text alone, and refuses what would have to be put into it', () => {
    const body = '{ }'

    expect(Buffer.from(sign('hmac', { body }, HMAC_OPTIONS).body).toString()).toBe('{ }')
    expect(() => sign('hmac', { type: 't', body }, HMAC_OPTIONS)).toThrow('sign.type')
    expect(() => sign('stripe', { key: 'k', body }, { secret: SECRET })).toThrow('sign.key')
    // GitHub has its key in a header.
    expect(sign('github', { key: 'k', body }, { secret: SECRET }).headers).toMatchObject({
      'x-github-delivery': 'k',
    })
  })

  test('refuses a type that it has no payload of, rather than to send that of another', () => {
    const type = 'customer.created'
    const body = { data: { object: { id: 'cus_1', object: 'customer' } } }
    const signed = sign('stripe', { type, body }, { secret: SECRET })

    expect(() => sign('stripe', { type }, { secret: SECRET })).toThrow(/"invoice.paid".* body/)
    expect(JSON.parse(Buffer.from(signed.body).toString())).toEqual({ ...body, type })
  })

  test('adds headers', () => {
    expect(
      sign('github', { headers: { 'x-more': '1' } }, { secret: SECRET }).headers['x-more'],
    ).toBe('1')
  })

  test.each<[string, Partial<HmacOptions>]>([
    ['a timestamp in seconds', { timestamp: { header: 'X-T', format: 'seconds' } }],
    ['an ISO timestamp', { timestamp: { header: 'X-T', format: 'iso' } }],
    ['a key in a list in the body', { key: 'json:$.a[1].id' }],
    ['the body as key', { key: 'body' }],
    ['a key tried first in a header', { key: ['header:x-key', 'body'], type: 'header:x-type' }],
    ['a secret in hex', { secretEncoding: 'hex', secrets: ['00'.repeat(32)] }],
    ['a secret with a label', { secrets: [{ value: SECRET, label: '1' }] }],
    ['sha1 in hex', { algorithm: 'sha1', encoding: 'hex', prefix: 'sha1=' }],
  ])('signs for hmac with %s', (_, changed) => {
    const options = { ...HMAC_OPTIONS, ...changed }
    const signed = sign('hmac', { at: NOW, key: 'key-1', type: 'type-1' }, options)
    const [event] = hmac(options).identify(signed)

    expect(verdictOf(hmac(options), signed)).toEqual({ ok: true, secret: '1' })
    expect(event?.key).toMatch(options.key === 'body' ? /^body_[0-9a-f]{64}$/ : /^key-1$/)
    expect(event?.type).toBe('type-1')
  })

  test('refuses what it does not know', () => {
    expect(() => sign('paper' as 'stripe', {}, { secret: SECRET })).toThrow(
      /there is no provider of this name/,
    )
    expect(() => sign('stripe', { id: 'x' } as never, { secret: SECRET })).toThrow(
      /sign: unknown option "id"/,
    )
    expect(() => sign('stripe', {}, { secrets: SECRET } as never)).toThrow(
      /sign: unknown option "secrets"/,
    )
    expect(() => sign('hmac', {}, { ...HMAC_OPTIONS, kee: 'x' } as never)).toThrow(
      /hmac: unknown option "kee"/,
    )
  })
})

describe('a body of the caller has the key and the type that were asked for', () => {
  test.each([...PROVIDERS])('%s', async (slug, provider) => {
    const one = await findCase(slug)
    if (one === undefined) throw new Error(`${slug} has no case`)
    const { own, source, types } = makeSubject(provider, one)
    for (const type of types) {
      const event = { type, key: sampleKey(one.fixture, 1), at: NOW }
      const wanted = sign(one.fixture, event, own.credentials)
      const other = one.fixture.events[type]?.({ ...event, key: sampleKey(one.fixture, 2) })
      // Text and bytes are sent as they are.
      if (typeof other?.body !== 'object' || other.body instanceof Uint8Array) continue

      const given = sign(one.fixture, { ...event, body: other.body }, own.credentials)

      expect(source.identify(given).map(identityOf)).toEqual(
        source.identify(wanted).map(identityOf),
      )
      expect(source.identify(given).map((each) => each.type)).toEqual(
        source.identify(wanted).map((each) => each.type),
      )
    }
  })
})
