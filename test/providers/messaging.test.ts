import { describe, expect, test } from 'vitest'
import {
  ably,
  mailchimp,
  mailgun,
  mandrill,
  postmark,
  pusher,
  twitch,
  zendesk,
  zoom,
} from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { bareDelivery, isBelieved, keysOf, NOW } from './bare-delivery.ts'

const SECRET = 'a-secret-of-some-length'
const secrets = [SECRET]

describe('Mailgun', () => {
  const deliver = (key: string, receivedAt = NOW) => ({
    ...sign('mailgun', { key, at: NOW }, { secret: SECRET }),
    receivedAt,
  })

  test('takes a retry with its old time for as long as Mailgun retries, and no longer', async () => {
    const after = (hours: number) => new Date(NOW.getTime() + hours * 3_600_000)

    expect(await isBelieved(mailgun({ secrets }), deliver('a', after(8)))).toBe(true)
    expect(await isBelieved(mailgun({ secrets }), deliver('a', after(10)))).toBe(false)
  })

  test('believes the signature of the primary account', async () => {
    const body = JSON.parse(Buffer.from(deliver('a').body).toString()) as {
      signature: { signature: string }
    }
    const { signature, ...rest } = body.signature
    const parent = { ...rest, signature: '0'.repeat(64), 'parent-signature': signature }
    const text = JSON.stringify({ ...body, signature: parent })

    expect(await isBelieved(mailgun({ secrets }), bareDelivery({ body: Buffer.from(text) }))).toBe(
      true,
    )
  })

  test('tells one id of two days apart', () => {
    const source = mailgun({ secrets })
    const tomorrow = new Date(NOW.getTime() + 86_400_000)
    const delivered = (at: Date) => sign('mailgun', { key: 'a', at }, { secret: SECRET })

    expect(keysOf(source, delivered(NOW))).not.toEqual(keysOf(source, delivered(tomorrow)))
  })
})

test('Mandrill: a field that came twice is refused, though it signs the same', async () => {
  const publicUrl = 'https://example.com/in'
  const source = mandrill({ secrets, publicUrl })
  const delivery = sign('mandrill', { at: NOW }, { secret: SECRET, publicUrl })
  const twice = Buffer.concat([delivery.body, Buffer.from('&'), delivery.body])

  expect(await isBelieved(source, delivery)).toBe(true)
  expect(await isBelieved(source, { ...delivery, body: twice })).toBe(false)
})

test('Mailchimp: two changes of one member in one second are two events', () => {
  const source = mailchimp({ secrets })
  const changed = (name: string) =>
    keysOf(
      source,
      bareDelivery({
        body: Buffer.from(
          `type=profile&fired_at=2025-10-09+08:53:20&data[id]=a&data[merges][FNAME]=${name}`,
        ),
      }),
    )

  expect(changed('A')).not.toEqual(changed('B'))
  expect(
    source.identify(sign('mailchimp', { at: NOW }, { secret: SECRET }))[0]?.occurredAt,
  ).toEqual(NOW)
})

test('Postmark: events of one message are told apart, and an unknown kind has no key', () => {
  const source = postmark({ username: 'a', password: 'b' })
  const keyOf = (members: object) =>
    keysOf(
      source,
      bareDelivery({ body: Buffer.from(JSON.stringify({ MessageID: 'm', ...members })) }),
    )[0]
  const click = { RecordType: 'Click', ReceivedAt: '2025-10-09T08:53:17Z' }

  expect(keyOf({ ...click, OriginalLink: 'a' })).not.toBe(keyOf({ ...click, OriginalLink: 'b' }))
  expect(keyOf(click)).not.toBe(keyOf({ ...click, RecordType: 'Open' }))
  expect(keyOf({ RecordType: 'New' })).toBeUndefined()
})

test('Twitch: the unsigned headers decide nothing', async () => {
  const source = twitch({ secrets })
  const delivery = sign('twitch', { type: 'channel.follow', at: NOW }, { secret: SECRET })
  const headers = {
    ...delivery.headers,
    'twitch-eventsub-message-type': 'webhook_callback_verification',
    'twitch-eventsub-subscription-type': 'channel.ban',
  }

  expect(await isBelieved(source, { ...delivery, headers })).toBe(true)
  expect(await source.handshake?.({ ...delivery, headers }, 'verified')).toBeUndefined()
  expect(source.identify({ ...delivery, headers })[0]?.type).toBe('channel.follow')
})

test('Zoom: two participants in one millisecond are two events', () => {
  const source = zoom({ secrets })
  const joined = (user: string) => {
    const object = { uuid: 'u', participant: { user_id: user, user_name: 'Example' } }
    const body = { event: 'meeting.participant_joined', event_ts: 1, payload: { object } }
    return keysOf(source, bareDelivery({ body: Buffer.from(JSON.stringify(body)) }))
  }

  expect(joined('1')).not.toEqual(joined('2'))
})

describe('Zendesk', () => {
  test('a trigger’s own `id` is not the event’s, and known bytes under a new invocation are quarantined', () => {
    const source = zendesk({ secrets })
    const invoked = (id: string) =>
      keysOf(
        source,
        bareDelivery({
          headers: { 'x-zendesk-webhook-invocation-id': id },
          body: Buffer.from('{"id":"12345","type":"ticket"}'),
        }),
      )

    expect([invoked('a'), invoked('b')]).toEqual([['a'], ['b']])
    expect(source.sameBytes).toBe('quarantine')
  })

  test('warns of the published secret', () => {
    const published = 'dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=='

    expect(zendesk({ secrets: [{ value: published }] }).warnings).toHaveLength(1)
    expect(zendesk({ secrets }).warnings).toEqual([])
  })
})

describe('Pusher', () => {
  const KEY = '3d1c3e1a2b4c5d6e7f80'

  test('two equal events of one delivery are two', () => {
    const body = '{"time_ms":1,"events":[{"name":"a"},{"name":"a"},{"name":"b"}]}'
    const keys = keysOf(pusher({ secrets, keys: [KEY] }), bareDelivery({ body: Buffer.from(body) }))

    expect(new Set(keys).size).toBe(3)
  })

  test.each([
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['Application/JSON;charset=UTF-8', true],
    ['application/json; charset=utf-16', false],
    ['application/json ; charset=utf-8', true],
    ['application/jsonp', false],
    ['application/x-www-form-urlencoded', false],
    ['text/plain; x=application/json', false],
    ['', false],
  ])('of the content type %j is believed: %s', async (type, believed) => {
    const source = pusher({ secrets, keys: [KEY] })
    const delivery = sign('pusher', { at: NOW }, { secret: SECRET })
    const headers = { ...delivery.headers, 'content-type': type }

    expect(await isBelieved(source, { ...delivery, headers })).toBe(believed)
  })

  test('warns where no keys are given', () => {
    expect(pusher({ secrets }).warnings).toHaveLength(1)
  })
})

describe('Ably', () => {
  const delivery = sign('ably', { at: NOW }, { secret: SECRET })

  test('takes a whole key for its secret', async () => {
    expect(await isBelieved(ably({ secrets: [`aBCdEf.GhI-Kl:${SECRET}`] }), delivery)).toBe(true)
  })

  test.each(['{"source":"channel.message","messages":[]}', '\u0081\u00a5items', '[]'])(
    'refuses %j, which is no batch in JSON, though it is signed',
    async (body) => {
      const signed = sign('ably', { at: NOW, body }, { secret: SECRET })

      expect(await ably({ secrets }).verify(signed)).toEqual({
        ok: false,
        reason: 'malformed-body',
      })
    },
  )
})
