import { describe, expect, test } from 'vitest'
import { hmac } from '../../src/providers/index.ts'
import type { HmacOptions } from '../../src/providers/index.ts'
import { signedDelivery } from '../../src/testing/index.ts'
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
      const [one, two] = [
        signedDelivery(kind, { secret: SECRET }),
        signedDelivery(kind, { secret: SECRET }),
      ]
      const identify = SIGNED_SOURCES.find(({ name }) => name === kind)!.source().identify

      expect(identify(one)[0]?.key).not.toBe(identify(two)[0]?.key)
      // A signed id makes two events of equal bytes; without one they would be held back.
      if (kind !== 'standardWebhooks') expect(Buffer.compare(one.body, two.body)).not.toBe(0)
    },
  )

  test('puts key and type into an object, and leaves text and bytes alone', () => {
    const body = (options: object) =>
      Buffer.from(
        signedDelivery('stripe', { secret: SECRET, key: 'evt_1', type: 't', ...options }).body,
      ).toString()

    expect(JSON.parse(body({ body: { id: 'x', a: 1 } }))).toEqual({ id: 'evt_1', type: 't', a: 1 })
    expect(body({ body: '{ }' })).toBe('{ }')
    expect(body({ body: Buffer.from('[ ]') })).toBe('[ ]')
  })

  test('keeps the id and type of an object when none are asked for', () => {
    const { body } = signedDelivery('stripe', {
      secret: SECRET,
      body: { id: 'evt_7', type: 'mine' },
    })

    expect(JSON.parse(Buffer.from(body).toString())).toEqual({ id: 'evt_7', type: 'mine' })
  })

  test('adds headers', () => {
    expect(
      signedDelivery('github', { secret: SECRET, headers: { 'x-more': '1' } }).headers['x-more'],
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
    const signed = signedDelivery('hmac', {
      ...options,
      at: NOW,
      eventKey: 'key-1',
      eventType: 'type-1',
    })
    const [event] = hmac(options).identify(signed)

    expect(verdictOf(hmac(options), signed)).toEqual({ ok: true, secret: '1' })
    expect(event?.key).toMatch(options.key === 'body' ? /^body_[0-9a-f]{64}$/ : /^key-1$/)
    expect(event?.type).toBe('type-1')
  })

  test('refuses what it does not know', () => {
    expect(() => signedDelivery('paper' as 'stripe', { secret: SECRET })).toThrow(
      /must be one of 'stripe'/,
    )
    expect(() => signedDelivery('stripe', { secret: SECRET, id: 'x' } as never)).toThrow(
      /signedDelivery.id/,
    )
    expect(() => signedDelivery('hmac', { ...HMAC_OPTIONS, kee: 'x' } as never)).toThrow(/hmac.kee/)
  })
})
