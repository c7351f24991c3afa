import { describe, expect, test } from 'vitest'
import { auth0 } from '../../../src/providers/index.ts'
import { delivery } from '../signed-sources.ts'

const SECRET = 'a-token-of-32-characters-or-more'
const source = auth0({ secrets: [SECRET, 'user:a-password-of-ours'] })

const EVENT = '{"id":"evt_1","type":"user.created","specversion":"1.0","data":{"object":{}}}'
const log = (id: string) => `{"log_id":"${id}","data":{"type":"s","tenant_name":"example"}}`
const eventsOf = (body: string) => source.identify(delivery({}, body))
const bodiesOf = (body: string) =>
  eventsOf(body).map((event) => Buffer.from(event.body ?? []).toString())

describe('auth0’s credential', () => {
  const accepts = async (authorization: string, body: string) =>
    (await source.verify(delivery({ authorization }, body))).ok

  test('is shown behind Bearer, or as a user and a password', async () => {
    const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`

    expect(await accepts(`Bearer ${SECRET}`, EVENT)).toBe(true)
    expect(await accepts(basic('user:a-password-of-ours'), EVENT)).toBe(true)
    expect(await accepts(`Bearer ${SECRET}x`, EVENT)).toBe(false)
    expect(await accepts(basic('user:another'), EVENT)).toBe(false)
    expect(await accepts(`Bearer Bearer ${SECRET}`, EVENT)).toBe(false)
  })

  test('is shown as it was typed by a log stream, and by no event stream', async () => {
    expect(await accepts(SECRET, log('1'))).toBe(true)
    expect(await accepts(SECRET, `${log('1')}\n${log('2')}`)).toBe(true)
    expect(await accepts(SECRET, `[${log('1')}]`)).toBe(true)
    expect(await accepts(SECRET, EVENT)).toBe(false)
    expect(await accepts(`${SECRET}x`, log('1'))).toBe(false)
  })

  test('may have been typed with Bearer, for a log stream', async () => {
    const typed = auth0({ secrets: [`Bearer ${SECRET}`] })
    const verdict = (body: string) =>
      typed.verify(delivery({ authorization: `Bearer ${SECRET}` }, body))

    expect(await verdict(log('1'))).toMatchObject({ ok: true })
    expect(await verdict(EVENT)).toEqual({ ok: false, reason: 'bad-token' })
  })
})

describe('auth0’s log streams', () => {
  test('give the same events in lines, a list or an object', () => {
    const expected = [log('1'), log('2')]

    expect(bodiesOf(`${log('1')}\n${log('2')}`)).toEqual(expected)
    expect(bodiesOf(`\n${log('1')}\r\n\r\n ${log('2')} \n`)).toEqual(expected)
    expect(bodiesOf(`[${log('1')}, ${log('2')}]`)).toEqual(expected)
    expect(bodiesOf(`{"logs": [${log('1')}, ${log('2')}]}`)).toEqual(expected)
  })

  test('give a single entry the bytes it has in any group', () => {
    for (const body of [log('1'), `${log('1')}\n`, ` ${log('1')}\r\n\n`, `[${log('1')}]`]) {
      expect(bodiesOf(body)).toEqual([log('1')])
    }
  })

  test('keep a line that is no JSON, as an event without a key', () => {
    const events = eventsOf(`${log('1')}\n{"log_id":\n${log('3')}`)

    expect(events.map(({ key }) => key)).toEqual(['1', undefined, '3'])
  })

  test('make no event of an empty body', () => {
    expect(eventsOf('')).toEqual([])
    expect(eventsOf(' \r\n')).toEqual([])
  })

  test('say that a part is JSON, whatever the content type of the whole', () => {
    const types = eventsOf(`${log('1')}\n${log('2')}`).map(({ bodyType }) => bodyType)

    expect(types).toEqual(['application/json', 'application/json'])
  })
})

test('auth0’s event stream gives one event, with its tenant, time and version', () => {
  const body = {
    id: 'evt_1',
    type: 'user.updated',
    specversion: '1.0',
    time: '2025-10-09T08:53:18.440Z',
    a0tenant: 'example',
    data: { object: { user_id: 'auth0|1', updated_at: '2025-10-09T08:53:18.000Z' } },
  }

  expect(eventsOf(JSON.stringify(body))).toEqual([
    {
      key: 'evt_1',
      scope: 'example',
      type: 'user.updated',
      occurredAt: new Date(body.time),
      version: '2025-10-09T08:53:18.000Z',
    },
  ])
})
