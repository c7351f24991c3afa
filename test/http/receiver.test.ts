import { describe, expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import type { Receiver } from '../../src/http/node.ts'
import { AWKWARD_BODIES } from '../support/awkward-bodies.ts'
import { rawExchange, rawSender, statuses } from '../support/raw-exchange.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

async function listening(receiver: Receiver): Promise<{ port: number; url: string }> {
  const { port } = await receiver.listen()
  return { port, url: `http://127.0.0.1:${port}` }
}

function post(path: string, headers: string, body = '{}'): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

describe('R42: methods and paths', () => {
  test.each([
    ['/in/stripe', 200],
    ['/in/stripe?mode=live', 200],
    ['/in/stripe/', 404],
    ['//in/stripe', 404],
    ['/in//stripe', 404],
    ['/in/STRIPE', 404],
    ['/IN/stripe', 404],
    ['/in/%73tripe', 404],
    ['/in/x/../stripe', 404],
    ['/in/x/%2e%2e/stripe', 404],
    ['/in/.', 404],
    ['/in/', 404],
    ['/in', 404],
    ['/', 404],
    ['/stripe', 404],
    ['/in/unknown', 404],
    ['/in/constructor', 404],
    ['/in/__proto__', 404],
    ['http://x/in/stripe', 404],
  ])('POST %s is answered %i and reaches no other source', async (path, status) => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await listening(receiver)

    const answer = await rawExchange(port, post(path, ''))

    expect(statuses(answer)).toEqual([status])
    expect(inbox.received.map(({ source }) => source)).toEqual(status === 200 ? ['stripe'] : [])
  })

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s on a source is 405',
    async (method) => {
      const inbox = recordingInbox()
      await using receiver = createReceiver(inbox)
      const { url } = await listening(receiver)

      const response = await fetch(`${url}/in/stripe`, { method })

      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('POST')
      expect(inbox.received).toEqual([])
    },
  )

  test('the path before a source’s name can be chosen', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox, { path: '/hooks/v1/' })
    const { url } = await listening(receiver)

    expect((await fetch(`${url}/hooks/v1/stripe`, { method: 'POST', body: '{}' })).status).toBe(200)
    expect((await fetch(`${url}/in/stripe`, { method: 'POST', body: '{}' })).status).toBe(404)
  })

  test.each([
    [{ path: 'in/' }, 'receiver.path'],
    [{ headersTimeoutMs: Number.NaN }, 'receiver.headersTimeoutMs'],
    [{ headerBytesMax: -1 }, 'receiver.headerBytesMax'],
    [{ headerTimeoutMs: 5 }, 'receiver.headerTimeoutMs'],
  ])('the option %o is refused by name', (options: object, name) => {
    expect(() => createReceiver(recordingInbox(), options)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: name }),
    )
  })

  test('an unknown option of listen is refused by name, and nothing listens', async () => {
    await using receiver = createReceiver(recordingInbox())

    await expect(receiver.listen({ prt: 4400 } as object)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      option: 'listen.prt',
    })
    expect(receiver.server.listening).toBe(false)
  })

  test('a body that is not wanted closes its connection instead of being read', async () => {
    await using receiver = createReceiver(recordingInbox())
    const { port } = await listening(receiver)

    const answer = await rawExchange(
      port,
      'PUT /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000000\r\n\r\nstart',
    )

    expect(statuses(answer)).toEqual([404])
    expect(answer.toLowerCase()).toContain('connection: close')
  })
})

describe('health and readiness', () => {
  test('/healthz says 200, and /readyz what the inbox says', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { url } = await listening(receiver)

    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    inbox.setReady(false)
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`, { method: 'POST' })).status).toBe(405)
  })
})

describe('R41: the content type chooses nothing', () => {
  test.each(Object.entries(AWKWARD_BODIES))(
    '%s arrive as they were sent, under every content type',
    async (_name, sent) => {
      const inbox = recordingInbox()
      await using receiver = createReceiver(inbox)
      const { url } = await listening(receiver)
      const types = [
        'application/json',
        'multipart/form-data; boundary=x',
        'text/plain; charset=utf-16',
        '/;garbage',
        undefined,
      ]

      for (const type of types) {
        const response = await fetch(`${url}/in/stripe`, {
          method: 'POST',
          body: Buffer.from(sent),
          headers: type === undefined ? {} : { 'content-type': type },
        })
        expect(response.status).toBe(200)
      }

      expect(inbox.received).toHaveLength(types.length)
      for (const { delivery } of inbox.received)
        expect(Buffer.from(delivery.body).equals(sent)).toBe(true)
    },
  )
})

describe('R37: an encoded body', () => {
  test.each(['gzip', 'br', 'GZIP', 'identity, br'])(
    'Content-Encoding: %s is 415 and nothing is decoded',
    async (encoding) => {
      await using receiver = createReceiver(recordingInbox())
      const { port } = await listening(receiver)

      const answer = await rawExchange(
        port,
        post('/in/stripe', `content-encoding: ${encoding}\r\n`, 'not really'),
      )

      expect(statuses(answer)).toEqual([415])
    },
  )
})

describe('R39: headers that come twice, and requests that are two', () => {
  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    '%s twice is 400, and seen as two',
    async (name) => {
      const inbox = recordingInbox()
      await using receiver = createReceiver(inbox)
      const { port } = await listening(receiver)

      const answer = await rawExchange(
        port,
        post('/in/standard', `${name}: evil\r\n${name.toUpperCase()}: real\r\n`),
      )

      expect(statuses(answer)).toEqual([400])
      expect(inbox.received[0]?.delivery.headers[name]).toEqual(['evil', 'real'])
    },
  )

  test('a second value is seen behind two thousand other headers', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await listening(receiver)
    const filler = 'a:\r\n'.repeat(2_500)

    const answer = await rawExchange(
      port,
      post('/in/standard', `webhook-id: evil\r\n${filler}webhook-id: real\r\n`),
    )

    expect(statuses(answer)).toEqual([400])
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'a header called %s is a header like any other',
    async (name) => {
      const inbox = recordingInbox()
      await using receiver = createReceiver(inbox)
      const { port } = await listening(receiver)

      const answer = await rawExchange(
        port,
        post('/in/standard', `${name}: one\r\n${name}: two\r\n`),
      )

      expect(statuses(answer)).toEqual([200])
      expect(Object.entries(inbox.received[0]?.delivery.headers ?? {})).toContainEqual([
        name.toLowerCase(),
        ['one', 'two'],
      ])
    },
  )

  test.each([
    [
      'a length and chunks',
      'POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'two lengths',
      'POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{} ',
    ],
    ['bare line feeds', 'POST /in/stripe HTTP/1.1\nhost: x\ncontent-length: 2\n\n{}'],
    [
      'a length that is no number',
      'POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 0x2\r\n\r\n{}',
    ],
    [
      'a chunk size with junk',
      'POST /in/stripe HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
    ],
    [
      'a space before the colon',
      'POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length : 2\r\n\r\n{}',
    ],
    ['no host', 'POST /in/stripe HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}'],
  ])('%s are 400 and the end of the connection', async (_what, bytes) => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await listening(receiver)

    const answer = await rawExchange(port, bytes)

    expect(statuses(answer)).toEqual([400])
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(inbox.received).toEqual([])
  })

  test('headers of more than 16 KiB are 431', async () => {
    await using receiver = createReceiver(recordingInbox())
    const { port } = await listening(receiver)

    const answer = await rawExchange(port, post('/in/stripe', `x: ${'y'.repeat(17_000)}\r\n`))

    expect(statuses(answer)).toEqual([431])
  })
})

describe('R46: a sender that goes away', () => {
  test('right after its body is received all the same', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await listening(receiver)
    const held = inbox.hold()

    const sender = await rawSender(port)
    sender.write(post('/in/stripe', '', '{"id":"evt_1"}'))
    await inbox.arrived(1)
    sender.socket.destroy()
    await sender.closed
    held.release()

    expect(Buffer.from(inbox.received[0]?.delivery.body ?? []).toString()).toBe('{"id":"evt_1"}')
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  })

  test('and only half-closes still hears the answer', async () => {
    await using receiver = createReceiver(recordingInbox())
    const { port } = await listening(receiver)

    const sender = await rawSender(port)
    sender.socket.end(post('/in/stripe', '', '{"id":"evt_1"}'))

    expect(statuses(await sender.closed)).toEqual([200])
  })

  test('in the middle of its body is not received', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await listening(receiver)
    const gone = new Promise((resolve) => {
      receiver.server.once('request', (request) => request.once('close', resolve))
    })

    const sender = await rawSender(port)
    sender.socket.end('POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"half":')
    await gone
    await sender.closed

    expect(inbox.received).toEqual([])
  })
})

test('an inbox that throws is 503, because the sender must try again', async () => {
  const inbox = { ...recordingInbox(), receive: () => Promise.reject(new Error('broken')) }
  await using receiver = createReceiver(inbox)
  const { url } = await listening(receiver)

  const response = await fetch(`${url}/in/stripe`, { method: 'POST', body: '{}' })

  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('5')
})

test('a 204 has neither body nor length', async () => {
  const acknowledgement = {
    status: 204,
    headers: {},
    body: '',
    outcome: 'accepted',
    eventId: undefined,
    close: false,
  } as const
  const inbox = { ...recordingInbox(), receive: () => Promise.resolve(acknowledgement) }
  await using receiver = createReceiver(inbox)
  const { port } = await listening(receiver)

  const answer = await rawExchange(port, post('/in/stripe', ''))

  expect(statuses(answer)).toEqual([204])
  expect(answer.toLowerCase()).not.toContain('content-length')
})
