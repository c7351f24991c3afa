import { describe, expect, test } from 'vitest'
import { meta, x } from '../../src/providers/index.ts'
import type { Source } from '../../src/model/source.ts'

const SECRETS = { secrets: ['a-secret-of-some-length'] }

/** The payloads of the events that a body makes. */
function payloadsOf(source: Source, body: unknown): readonly unknown[] {
  const delivery = {
    method: 'POST',
    url: '/',
    headers: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    receivedAt: new Date(0),
  }
  return source.identify(delivery).map((event) => {
    return JSON.parse(Buffer.from(event.body ?? delivery.body).toString()) as unknown
  })
}

describe('an update of Meta that is cut out of a request', () => {
  const source = meta(SECRETS)
  const METADATA = { display_phone_number: '15550000000', phone_number_id: '106540352242922' }
  const contact = (id: string) => ({ profile: { name: `Ada ${id}` }, wa_id: id })
  const request = (value: object, entry: object = {}) => ({
    object: 'whatsapp_business_account',
    entry: [{ id: '1022', ...entry, changes: [{ value, field: 'messages' }] }],
  })
  const valuesOf = (value: object) =>
    payloadsOf(source, request(value)).map(
      (payload) => (payload as ReturnType<typeof request>).entry[0]?.changes[0]?.value,
    )

  test('has the contact that it is from or to, and not those of others', () => {
    const values = valuesOf({
      metadata: METADATA,
      contacts: ['1', '2', '3'].map(contact),
      messages: [
        { from: '2', id: 'm1' },
        { from: '1', id: 'm2' },
      ],
      statuses: [{ recipient_id: '3', id: 'm0', status: 'read' }],
    })

    expect(values).toEqual([
      { metadata: METADATA, contacts: [contact('2')], messages: [{ from: '2', id: 'm1' }] },
      { metadata: METADATA, contacts: [contact('1')], messages: [{ from: '1', id: 'm2' }] },
      {
        metadata: METADATA,
        contacts: [contact('3')],
        statuses: [{ recipient_id: '3', id: 'm0', status: 'read' }],
      },
    ])
  })

  test('is another event where a message was unsent', () => {
    const messaging = [
      { message: { mid: 'm1', text: 'hi' } },
      { message: { mid: 'm1', is_deleted: true } },
    ]
    const body = JSON.stringify({ object: 'instagram', entry: [{ id: '1', messaging }] })
    const delivery = { method: 'POST', url: '/', headers: {}, receivedAt: new Date(0) }

    const keys = source.identify({ ...delivery, body: Buffer.from(body) }).map(({ key }) => key)

    expect(keys).toEqual(['m1', 'm1|deleted'])
  })

  test('has all contacts where none is its own and they are few', () => {
    const contacts = [contact('1'), contact('2')]

    const values = valuesOf({ contacts, messages: [{ id: 'm1' }, { from: '9', id: 'm2' }] })

    expect(values).toMatchObject([{ contacts }, { contacts }])
  })

  test('has no contacts where none is its own and they are many', () => {
    const contacts = Array.from({ length: 1_000 }, (_, n) => contact(`1${n}`))

    const values = valuesOf({
      metadata: METADATA,
      contacts,
      messages: [{ id: 'm1' }, { id: 'm2' }],
    })

    expect(values).toEqual([
      { metadata: METADATA, messages: [{ id: 'm1' }] },
      { metadata: METADATA, messages: [{ id: 'm2' }] },
    ])
  })

  test('has all that stands beside it where it is the only one, however large', () => {
    const value = {
      note: 'x'.repeat(100_000),
      contacts: ['1', '2'].map(contact),
      messages: [{ from: '1', id: 'm1' }],
    }
    const whole = request(value, { note: 'y'.repeat(100_000) })

    expect(payloadsOf(source, whole)).toEqual([whole])
  })

  test('has of what stands beside several what is small, in an entry and in a change', () => {
    const value = {
      note: 'x'.repeat(10_000),
      metadata: METADATA,
      messages: [{ id: 'm1' }, { id: 'm2' }],
    }

    const payloads = payloadsOf(source, request(value, { note: 'y'.repeat(10_000), time: 7 }))

    expect(payloads).toEqual(
      ['m1', 'm2'].map((id) => request({ metadata: METADATA, messages: [{ id }] }, { time: 7 })),
    )
  })

  test('is written as it was, with its numbers and escapes', () => {
    const message = '{"id":"m1","n":12345678901234567890,"t":"caf\\u00e9"}'
    const body = `{"object":"page","entry":[{"id":1.50,"changes":[{"value":{"messages":[${message}]}}]}]}`

    const [event] = source.identify({
      method: 'POST',
      url: '/',
      headers: {},
      body: Buffer.from(body),
      receivedAt: new Date(0),
    })

    expect(Buffer.from(event?.body ?? []).toString()).toContain(message)
    expect(Buffer.from(event?.body ?? []).toString()).toContain('"id":1.50')
  })
})

describe('an event of X that is cut out of a request', () => {
  const source = x(SECRETS)
  const user = (id: string) => ({ id, name: `Ada ${id}`, followers_count: 22 })
  const message = (id: string, from: string, to: string) => ({
    type: 'message_create',
    id,
    message_create: { sender_id: from, target: { recipient_id: to }, source_app_id: '7' },
  })

  test('has the users and the app that it speaks of, and not those of others', () => {
    const [first, second] = [message('1', '10', '11'), message('2', '12', '11')]
    const users = { 10: user('10'), 11: user('11'), 12: user('12') }
    const apps = { 7: { id: '7', name: 'Web' }, 8: { id: '8', name: 'Other' } }

    const payloads = payloadsOf(source, {
      for_user_id: '11',
      direct_message_events: [first, second],
      users,
      apps,
    })

    const web = { 7: apps[7] }
    expect(payloads).toEqual([
      {
        for_user_id: '11',
        direct_message_events: [first],
        users: { 10: users[10], 11: users[11] },
        apps: web,
      },
      {
        for_user_id: '11',
        direct_message_events: [second],
        users: { 11: users[11], 12: users[12] },
        apps: web,
      },
    ])
  })

  test('has the users of who is writing or reading', () => {
    const typing = { sender_id: '10', target: { recipient_id: '11' }, created_timestamp: '1' }
    const users = { 10: user('10'), 11: user('11'), 12: user('12') }

    const payloads = payloadsOf(source, {
      direct_message_indicate_typing_events: [typing, { ...typing, created_timestamp: '2' }],
      users,
    })

    const own = { 10: users[10], 11: users[11] }
    expect(payloads).toMatchObject([{ users: own }, { users: own }])
    expect(JSON.stringify(payloads)).not.toContain('Ada 12')
  })

  test('has all that stands beside it where it is the only one, however large', () => {
    const whole = {
      for_user_id: '11',
      note: 'x'.repeat(100_000),
      direct_message_events: [message('1', '10', '11')],
      users: { 10: user('10'), 12: user('12') },
    }

    expect(payloadsOf(source, whole)).toEqual([whole])
  })
})
