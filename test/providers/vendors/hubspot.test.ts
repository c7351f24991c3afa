import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import { hubspot } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const NOW = new Date(1_760_000_000_000)
const SECRET = 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy'
const URL = 'https://www.example.com/webhook_uri?hs=1'
const BODY = '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"subscriptionType":"a.b"}]'
const REFUSED = { ok: false, reason: 'bad-signature' }

const source = hubspot({ secrets: [SECRET], publicUrl: URL })

describe('hubspot’s signatures', () => {
  test('v1 covers the body, and is what a missing version means', async () => {
    const signature = hash(BODY)

    expect(await source.verify(older(signature, 'v1'))).toMatchObject({ ok: true })
    expect(await source.verify(older(signature))).toMatchObject({ ok: true })
    expect(await source.verify(older(signature, 'v1', `${BODY} `))).toEqual(REFUSED)
  })

  test('v2 covers the method and the URL as well', async () => {
    const delivery = older(hash(`POST${URL}${BODY}`), 'v2')

    expect(await source.verify(delivery)).toMatchObject({ ok: true })
    expect(await source.verify({ ...delivery, method: 'PUT' })).toEqual(REFUSED)
    const elsewhere = hubspot({ secrets: [SECRET], publicUrl: 'https://www.example.com/other' })
    expect(await elsewhere.verify(delivery)).toEqual(REFUSED)
  })

  test('the URL is the configured one, whatever the request says', async () => {
    const delivery = older(hash(`POST${URL}${BODY}`), 'v2')
    const forged = { ...delivery, url: '/else?x=2', headers: { ...delivery.headers, host: 'evil' } }

    expect(await source.verify(forged)).toMatchObject({ ok: true })
  })

  test('what v2 signed is no v1 of another body', async () => {
    const signature = hash(`POST${URL}${BODY}`)

    expect(await source.verify(older(signature, 'v1', `POST${URL}${BODY}`))).toEqual({
      ok: false,
      reason: 'malformed-body',
    })
  })

  test('a hash that was carried on from another’s is refused', async () => {
    const blocks = Buffer.from(`${SECRET}${BODY}`)
    const zeros = Buffer.alloc((119 - (blocks.length % 64)) % 64)
    const bits = Buffer.alloc(8)
    bits.writeUInt32BE(blocks.length * 8, 4)
    const body = Buffer.concat([
      Buffer.from(BODY),
      Buffer.from([0x80]),
      zeros,
      bits,
      Buffer.from(' '),
    ])
    const signature = createHash('sha256').update(SECRET).update(body).digest('hex')

    for (const version of ['v1', 'v2']) {
      expect(await source.verify({ ...older(signature, version), body })).toEqual({
        ok: false,
        reason: 'malformed-body',
      })
    }
  })

  test.each(['v3', 'v4', 'V1', ''])(
    'the version %j of the older header is refused',
    async (version) => {
      expect(await source.verify(older(hash(BODY), version))).toMatchObject({ ok: false })
    },
  )

  test('capitals are refused, as by HubSpot’s own library', async () => {
    expect(await source.verify(older(hash(BODY).toUpperCase(), 'v1'))).toEqual(REFUSED)
  })

  test('a right v1 does not help a wrong or a stale v3', async () => {
    const right = older(hash(BODY), 'v1').headers
    const v3 = signedV3(URL)
    const wrong = { ...v3, headers: { ...right, ...v3.headers, 'x-hubspot-signature-v3': 'AAAA' } }
    const late = { ...v3, headers: { ...right, ...v3.headers }, receivedAt: after(300.001) }

    expect(await source.verify(wrong)).toEqual(REFUSED)
    expect(await source.verify(late)).toEqual({ ok: false, reason: 'stale' })
    expect(await source.verify({ ...late, receivedAt: after(300) })).toMatchObject({ ok: true })
  })

  test('v3 is tried over the URL as given, and as HubSpot decodes it', async () => {
    const given = 'https://www.example.com/in?to=a%40b%3Ac&x=%20%26'
    const escaped = hubspot({ secrets: [SECRET], publicUrl: given })
    const decoded = 'https://www.example.com/in?to=a@b:c&x=%20%26'

    expect(await escaped.verify(signedV3(given))).toMatchObject({ ok: true })
    expect(await escaped.verify(signedV3(decoded))).toMatchObject({ ok: true })
    expect(await escaped.verify(signedV3('https://www.example.com/in?to=a@b:c&x= &'))).toEqual(
      REFUSED,
    )
    const late = { ...signedV3(decoded), receivedAt: after(301) }
    expect(await escaped.verify(late)).toEqual({ ok: false, reason: 'stale' })
  })
})

describe('hubspot’s events', () => {
  test('one eventId for two objects, properties, associations or portals is several events', () => {
    const base = { eventId: 1, subscriptionId: 2, portalId: 3, occurredAt: 4, objectId: 5 }
    const events = source.identify(
      plain(
        JSON.stringify([
          base,
          { ...base, objectId: 6 },
          { ...base, subscriptionId: 7 },
          { ...base, portalId: 8 },
          { ...base, occurredAt: 9 },
          { ...base, propertyName: 'email' },
          { ...base, objectId: undefined, fromObjectId: 1, toObjectId: 2 },
          { ...base, objectId: undefined, fromObjectId: 1, toObjectId: 3 },
        ]),
      ),
    )

    expect(new Set(events.map(({ key, scope }) => `${scope} ${key}`)).size).toBe(8)
  })

  test('what a workflow sends is one event without a key', () => {
    expect(source.identify(plain('{"objectId":1,"properties":{}}'))).toEqual([
      { key: undefined, type: 'unknown' },
    ])
  })
})

function hash(text: string): string {
  return createHash('sha256').update(SECRET).update(text).digest('hex')
}

function after(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000)
}

function plain(body: string): Delivery {
  return { method: 'POST', url: '/', headers: {}, body: Buffer.from(body), receivedAt: NOW }
}

function older(signature: string, version?: string, body = BODY): Delivery {
  return {
    ...plain(body),
    headers: {
      'x-hubspot-signature': signature,
      ...(version !== undefined && { 'x-hubspot-signature-version': version }),
    },
  }
}

function signedV3(url: string): Delivery {
  const time = String(NOW.getTime())
  const signature = createHmac('sha256', SECRET).update(`POST${url}${BODY}${time}`).digest('base64')
  const headers = { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': time }
  const kit = sign('hubspot', { at: NOW, body: BODY }, { secret: SECRET, publicUrl: url })
  expect(kit.headers).toMatchObject(headers)
  return { ...plain(BODY), headers }
}
