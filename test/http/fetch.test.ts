import { getRequestListener } from '@hono/node-server'
import { describe, expect, test } from 'vitest'
import { fetchHandler } from '../../src/http/fetch.ts'
import { adapterCases, serve } from '../support/adapter-cases.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

adapterCases(
  'a fetch handler',
  (inbox) => serve(getRequestListener(fetchHandler(inbox, 'standard'))),
  {
    seesHeadersApart: false,
  },
)

const URL = 'https://example.com/webhooks/standard'

function aRequest(init: RequestInit = {}): Request {
  return new Request(URL, { method: 'POST', body: '{"id":"evt_1"}', ...init })
}

describe('a fetch handler', () => {
  test.each(['json', 'text', 'arrayBuffer'] as const)(
    'answers 500 after request.%s(), and says so',
    async (method) => {
      const inbox = recordingInbox()
      const request = aRequest()
      await request[method]()

      const response = await fetchHandler(inbox, 'standard')(request)

      expect(response.status).toBe(500)
      expect(await response.json()).toEqual({
        error: 'body_parsed',
        hint: expect.stringContaining('request.json()'),
      })
      expect(inbox.hints).toHaveLength(1)
      expect(inbox.received).toEqual([])
    },
  )

  test('answers 500 to a body that other code is reading', async () => {
    const request = aRequest()
    request.body?.getReader()

    expect((await fetchHandler(recordingInbox(), 'standard')(request)).status).toBe(500)
  })

  test('takes a request whose clone was read', async () => {
    const inbox = recordingInbox()
    const request = aRequest()
    await request.clone().json()

    expect((await fetchHandler(inbox, 'standard')(request)).status).toBe(200)
    expect(Buffer.from(inbox.received[0]?.delivery.body ?? []).toString()).toBe('{"id":"evt_1"}')
  })

  test('answers 408 to a body that does not end in time', async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{')) })
    const handler = fetchHandler(recordingInbox({ bodyTimeoutMs: 5 }), 'standard')

    const response = await handler(aRequest({ body, duplex: 'half' } as RequestInit))

    expect(response.status).toBe(408)
    expect(response.headers.get('connection')).toBe('close')
  })

  test('receives nothing of a body that breaks off', async () => {
    const inbox = recordingInbox()
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })

    const response = await fetchHandler(
      inbox,
      'standard',
    )(aRequest({ body, duplex: 'half' } as RequestInit))

    expect(response.status).toBe(503)
    expect(inbox.received).toEqual([])
  })

  test('can answer without a body', async () => {
    const acknowledgement = {
      status: 204,
      headers: {},
      body: '',
      outcome: 'accepted',
      eventId: undefined,
      close: false,
    } as const
    const inbox = { ...recordingInbox(), receive: () => Promise.resolve(acknowledgement) }

    const response = await fetchHandler(inbox, 'standard')(aRequest())

    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  test('refuses an unknown source when it is made', () => {
    expect(() => fetchHandler(recordingInbox(), 'stirpe')).toThrow(
      expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
    )
  })
})

describe('R39: headers that a Request has joined', () => {
  test.each([
    ['two ids', 'evil, real', ['evil', 'real']],
    ['two timestamps', '1760000000, 1760000001', ['1760000000', '1760000001']],
    ['two signatures in base64', 'YWJj, ZGU=', ['YWJj', 'ZGU=']],
    ['an id and an empty one', 'evil, ', ['evil', '']],
    [
      'one signature with a comma and a space',
      't=1760000000, v1=9f86d0',
      't=1760000000, v1=9f86d0',
    ],
    ['one signature with a comma', 't=1760000000,v1=9f86d0', 't=1760000000,v1=9f86d0'],
    ['a date', 'Tue, 15 Nov 1994 08:12:31 GMT', 'Tue, 15 Nov 1994 08:12:31 GMT'],
    ['quoted parts', 'keyId="a", signature="b"', 'keyId="a", signature="b"'],
  ])('%s', async (_what, joined, seen) => {
    const inbox = recordingInbox()
    const headers = new Headers()
    const values = Array.isArray(seen) ? seen : [joined]
    for (const value of values) headers.append('webhook-id', value)

    const response = await fetchHandler(inbox, 'standard')(aRequest({ headers }))

    expect(inbox.received[0]?.delivery.headers['webhook-id']).toEqual(seen)
    expect(response.status).toBe(Array.isArray(seen) ? 400 : 200)
  })
})
