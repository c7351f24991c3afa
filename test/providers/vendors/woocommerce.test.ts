import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { woocommerce } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'
import { post, NOW, only } from '../bare-delivery.ts'

const SECRET = 'a-secret-of-forty-bytes-or-thereabouts-0'

describe('woocommerce', () => {
  const source = woocommerce({ secrets: [SECRET] })

  test('a secret is the same as it was typed and as WordPress keeps it', async () => {
    const delivery = sign('woocommerce', { at: NOW }, { secret: `a&b<"'>c` })
    const spellings = [
      `a&b<"'>c`,
      'a&amp;b&lt;&quot;&#039;&gt;c',
      'a&#38;b&#60;&#0034;&#x27;&#62;c',
      'a&#x26;b<&#x22;&#X27;>c',
    ]

    for (const value of spellings) {
      expect(await woocommerce({ secrets: [value] }).verify(delivery)).toMatchObject({ ok: true })
    }
    const other = woocommerce({ secrets: [`a&AMP;b<"'>c`] })
    expect(await other.verify(delivery)).toMatchObject({ ok: false })
  })

  test('entities are taken back once, as WordPress does', async () => {
    const delivery = sign('woocommerce', { at: NOW }, { secret: '&amp;lt;' })
    const digest = createHmac('sha256', '&lt;').update(delivery.body).digest('base64')

    expect(delivery.headers['x-wc-webhook-signature']).toBe(digest)
    expect(await woocommerce({ secrets: ['&amp;lt;'] }).verify(delivery)).toMatchObject({
      ok: true,
    })
  })

  test('two events in one second share a delivery id and no key', () => {
    const [first, second] = ['{"id":1}', '{"id":2}'].map((body) =>
      only(source, sign('woocommerce', { at: NOW, body }, { secret: SECRET })),
    )

    expect(first?.key).not.toBe(second?.key)
  })

  test('two changes in the second that the body counts are two events', () => {
    const keys = ['pending', 'paid'].map(
      (status) =>
        only(
          source,
          post(JSON.stringify({ id: 1, date_modified_gmt: '2025-10-09T08:53:17', status }), {
            'x-wc-webhook-topic': 'order.updated',
          }),
        ).key,
    )

    expect(new Set(keys).size).toBe(2)
  })

  test('another topic or shop is another event, of known bytes', () => {
    const identities = [
      { 'x-wc-webhook-topic': 'order.updated', 'x-wc-webhook-source': 'https://a.example/' },
      { 'x-wc-webhook-topic': 'order.deleted', 'x-wc-webhook-source': 'https://a.example/' },
      { 'x-wc-webhook-topic': 'order.updated', 'x-wc-webhook-source': 'https://b.example/' },
    ].map((headers) => only(source, post('{"id":1}', headers)))

    expect(new Set(identities.map(({ key, scope }) => `${scope} ${key}`)).size).toBe(3)
    expect(source.sameBytes).toBe('quarantine')
  })

  test('an action that happens again is another event', () => {
    const keys = ['one', 'two'].map(
      (id) =>
        only(
          source,
          post('{"action":"woocommerce_add_to_cart","arg":"x"}', {
            'x-wc-webhook-topic': 'action.woocommerce_add_to_cart',
            'x-wc-webhook-delivery-id': id,
          }),
        ).key,
    )

    expect(new Set(keys).size).toBe(2)
  })

  test('times are in UTC', () => {
    const event = only(source, post('{"id":1,"date_modified_gmt":"2025-10-09T08:53:20"}', {}))

    expect(event.occurredAt).toEqual(NOW)
    expect(event.version).toBe('2025-10-09T08:53:20')
  })
})
