import { describe, expect, test } from 'vitest'
import { hmac } from '../../src/providers/index.ts'
import type { HmacOptions } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { HMAC_OPTIONS, NOW, SECRET, SIGNED_SOURCES, verdictOf } from './signed-sources.ts'

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
      Buffer.from(sign('stripe', { key: 'evt_1', body }, { secret: SECRET }).body).toString()

    expect(bodyOf({ id: 'x', a: 1 })).toBe('{"id":"x","a":1}')
    expect(bodyOf('{ }')).toBe('{ }')
    expect(bodyOf(Buffer.from('[ ]'))).toBe('[ ]')
  })

  test('puts key and type into an object for hmac, where its options say, and leaves text alone', () => {
    const bodyOf = (body: unknown) =>
      Buffer.from(sign('hmac', { type: 't', body }, HMAC_OPTIONS).body).toString()

    expect(bodyOf({ type: 'x', a: 1 })).toBe('{"type":"t","a":1}')
    expect(bodyOf('{ }')).toBe('{ }')
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
