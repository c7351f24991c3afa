import { describe, expect, test } from 'vitest'
import type { Source } from '../../src/model/source.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import {
  github,
  hmac,
  shopify,
  standardWebhooks,
  stripe,
  unsigned,
} from '../../src/providers/index.ts'
import { defineProvider } from '../../src/providers/define-provider.ts'
import type { ProviderDefinition } from '../../src/providers/define-provider.ts'
import type { SecretOptions } from '../../src/providers/define-source.ts'
import { hmacSignature } from '../../src/providers/schemes/hmac-signature.ts'
import { sign } from '../../src/testing/index.ts'
import { delivery, HMAC_OPTIONS, NOW, SECRET, withHeaders } from './signed-sources.ts'
import { only } from './bare-delivery.ts'

const secrets = [SECRET]

describe('stripe', () => {
  const event = (body: object | string) =>
    only(stripe({ secrets }), delivery({}, typeof body === 'string' ? body : JSON.stringify(body)))

  test('knows an event by its id, and says its type and time', () => {
    const identified = event({
      id: 'evt_1',
      type: 'invoice.paid',
      created: 1_759_999_993,
      livemode: true,
    })

    expect(identified).toMatchObject({ key: 'evt_1', type: 'invoice.paid', scope: 'live' })
    expect(identified.occurredAt).toEqual(new Date(1_759_999_993_000))
  })

  test('keeps live and test mode, and every connected account, apart', () => {
    const events = [
      { id: 'evt_1', livemode: true },
      { id: 'evt_1', livemode: false },
      { id: 'evt_1' },
      { id: 'evt_1', livemode: true, account: 'acct_1' },
      { id: 'evt_1', livemode: true, account: 'acct_2' },
      { id: 'evt_1', livemode: false, context: 'acct_1' },
    ]

    expect(new Set(events.map((one) => event(one).scope)).size).toBe(events.length)
  })

  test('sees one content in two retries, whose pending_webhooks differ', () => {
    const retry = (pending: number, amount = 1) =>
      event(
        `{"id":"evt_1","pending_webhooks": ${pending},\n"data":{"object":{"amount":${amount}}}}`,
      ).content

    expect(retry(10)).toBeDefined()
    expect(retry(10)).toEqual(retry(2))
    expect(retry(1, 2)).not.toEqual(retry(1, 1))
  })

  test('sees another content when any other member differs', () => {
    const base = { id: 'evt_1', api_version: 'a', request: { id: null }, pending_webhooks: 1 }
    const contents = [base, { ...base, api_version: 'b' }, { ...base, request: { id: 'req_1' } }]

    expect(
      new Set(contents.map((one) => Buffer.from(event(one).content ?? []).toString())).size,
    ).toBe(3)
  })

  test('leaves the content to be the body where nothing in it is volatile', () => {
    expect(event({ id: 'evt_1', data: { pending_webhooks: 1 } })).not.toHaveProperty('content')
  })

  test('reads thin events', () => {
    const thin = event({
      id: 'evt_1',
      object: 'v2.core.event',
      type: 't',
      created: '2025-10-09T08:53:20.000Z',
    })

    expect(thin).toMatchObject({ key: 'evt_1', type: 't', occurredAt: NOW })
  })

  test.each(['', '[]', '{', '{"id":""}', '{"id":null}', '{"id":{}}', '\ufeff{"id":"evt_1"}'])(
    'finds no key in %j, and never an empty one',
    (body) => {
      expect(event(body)).toMatchObject({ key: undefined, type: 'unknown' })
    },
  )

  test.each([-1, 1e300, 253_402_300_800, '2025-10-09', null])(
    'leaves out a time of %j',
    (created) => {
      expect(event({ id: 'evt_1', created })).not.toHaveProperty('occurredAt')
    },
  )
})

describe('github', () => {
  test('knows an event by its delivery id, and a form by the same headers', () => {
    const form = delivery(
      { 'x-github-delivery': 'guid', 'x-github-event': 'issues' },
      'payload=%7B%7D',
    )

    expect(only(github({ secrets }), form)).toEqual({ key: 'guid', type: 'issues' })
  })

  test('finds no key where the header is missing or empty', () => {
    expect(only(github({ secrets }), delivery({}))).toEqual({ key: undefined, type: 'unknown' })
    expect(only(github({ secrets }), delivery({ 'x-github-delivery': '' })).key).toBeUndefined()
  })
})

describe('shopify', () => {
  const source = shopify({ secrets })
  const signed = sign(
    'shopify',
    { at: NOW, key: 'event-1', type: 'orders/paid' },
    { secret: SECRET },
  )

  test('knows an event by its event id, and says its topic and time', () => {
    expect(only(source, signed)).toMatchObject({
      key: 'event-1',
      type: 'orders/paid',
      occurredAt: NOW,
    })
  })

  test('sees one event in the deliveries of two subscriptions', () => {
    expect(only(source, withHeaders(signed, { 'x-shopify-webhook-id': 'other' }))).toEqual(
      only(source, signed),
    )
  })

  test('falls back to the webhook id', () => {
    const older = withHeaders(signed, {
      'x-shopify-event-id': undefined,
      'x-shopify-webhook-id': 'hook-1',
    })

    expect(only(source, older).key).toBe('hook-1')
  })

  test('keeps shops and topics apart', () => {
    const scopes = [
      { 'x-shopify-shop-domain': 'a', 'x-shopify-topic': 'b' },
      { 'x-shopify-shop-domain': 'a', 'x-shopify-topic': 'c' },
      { 'x-shopify-shop-domain': 'b', 'x-shopify-topic': 'b' },
      { 'x-shopify-shop-domain': undefined, 'x-shopify-topic': 'b' },
      { 'x-shopify-shop-domain': 'a","b', 'x-shopify-topic': undefined },
    ].map((headers) => only(source, withHeaders(signed, headers)).scope)

    expect(new Set(scopes).size).toBe(5)
  })

  test('believes and reads the newer headers', () => {
    const newer = Object.entries(signed.headers).map(([name, value]) => [
      name.replace('x-shopify-', 'shopify-'),
      value,
    ])
    const renamed = { ...signed, headers: Object.fromEntries(newer) as Delivery['headers'] }
    const acted = withHeaders(renamed, { 'shopify-topic': 'Product', 'shopify-action': 'update' })

    expect(source.verify(acted)).toEqual({ ok: true, secret: '1' })
    expect(only(source, acted)).toMatchObject({ key: 'event-1', type: 'Product/update' })
  })

  test('never mixes the two families of headers', () => {
    const mixed = withHeaders(signed, {
      'x-shopify-event-id': undefined,
      'x-shopify-webhook-id': undefined,
      'shopify-event-id': 'other',
    })

    expect(only(source, mixed).key).toBeUndefined()
  })
})

describe('standardWebhooks', () => {
  const source = standardWebhooks({ secrets })

  test('knows an event by its webhook-id, and reads type and time from the body', () => {
    const signed = sign(
      'standardWebhooks',
      { at: NOW, key: 'msg_1', type: 'a.b', body: { timestamp: NOW.toISOString() } },
      { secret: SECRET },
    )

    expect(only(source, signed)).toEqual({ key: 'msg_1', type: 'a.b', occurredAt: NOW })
  })

  test('keeps the key of a body that is not JSON', () => {
    expect(only(source, delivery({ 'webhook-id': 'msg_1' }, 'plain'))).toEqual({
      key: 'msg_1',
      type: 'unknown',
    })
  })
})

describe('hmac', () => {
  test('takes key and type from where it is told', () => {
    const source = hmac({ ...HMAC_OPTIONS, key: ['json:$.event.id', 'header:x-id'] })

    expect(
      only(source, delivery({ 'x-id': 'h' }, '{"event":{"id":9007199254740993},"type":"t"}')),
    ).toEqual({
      key: '9007199254740993',
      type: 't',
    })
    expect(only(source, delivery({ 'x-id': 'h' }, '[]'))).toEqual({ key: 'h', type: 'unknown' })
    expect(only(source, delivery({}, '[]')).key).toBeUndefined()
  })
})

describe('the same bytes under another key', () => {
  const declared = (identity: Pick<ProviderDefinition, 'key' | 'scope'>): Source =>
    defineProvider<SecretOptions>({
      provider: 'declared',
      verify: hmacSignature({
        signature: 'header:x-signature',
        algorithm: 'sha256',
        encoding: 'hex',
        signed: '{body}',
      }),
      retryWindowHours: null,
      ...identity,
    })({ secrets })
  const plain = { header: 'x-signature', algorithm: 'sha256', encoding: 'hex', secrets } as const

  test.each<[string, Source, string]>([
    ['an id in the signed body', stripe({ secrets }), 'run'],
    ['a signed id header', standardWebhooks({ secrets }), 'run'],
    ['an unsigned id header of GitHub', github({ secrets }), 'quarantine'],
    ['an unsigned id header of Shopify', shopify({ secrets }), 'quarantine'],
    ['hmac with a key in the body', hmac({ ...plain, key: ['json:$.id', 'body'] }), 'run'],
    [
      'hmac with a signed header',
      hmac({ ...plain, key: 'header:X-Id', signed: '{header:x-id}.{body}' }),
      'run',
    ],
    ['hmac with an unsigned header', hmac({ ...plain, key: 'header:x-id' }), 'quarantine'],
    [
      'hmac that may fall back to an unsigned header',
      hmac({ ...plain, key: ['json:$.id', 'header:x-id'] }),
      'quarantine',
    ],
    ['hmac with a key in the query', hmac({ ...plain, key: 'query:id' }), 'quarantine'],
    [
      'hmac that may fall back to the query',
      hmac({ ...plain, key: ['json:$.id', 'query:id'] }),
      'quarantine',
    ],
    ['hmac with a key in a signed form', hmac({ ...plain, key: 'form:id' }), 'run'],
    [
      'a provider with a part of its key in the query',
      declared({ key: { all: ['json:$.id', { optional: 'query:version' }] } }),
      'quarantine',
    ],
    [
      'a provider with its scope in the query',
      declared({ key: 'json:$.id', scope: 'query:account' }),
      'quarantine',
    ],
    ['a caller who decides', github({ secrets, sameBytes: 'duplicate' }), 'duplicate'],
    ['no signature at all', unsigned({ verify: 'none', key: 'json:$.id' }), 'run'],
  ])('from %s is the default or what was asked for', (_, source, expected) => {
    expect(source.sameBytes).toBe(expected)
  })
})
