import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Egress } from '../../src/egress/egress.ts'
import type { CreateHttpClient } from '../../src/egress/http-client.ts'
import type { EgressOptions } from '../../src/egress/options.ts'
import { ALLOWED, FORBIDDEN, startPair } from '../support/egress/canary.ts'
import { CLIENT_NAMES, CLIENTS } from '../support/egress/clients.ts'

/** Says how to make a receiver and an egress to it, through the client. */
function receiversFor(client: CreateHttpClient) {
  return async (answer: RequestListener, options: EgressOptions = {}) =>
    aReceiverThrough(client, answer, options)
}

async function aReceiverThrough(
  client: CreateHttpClient,
  answer: RequestListener,
  options: EgressOptions,
) {
  const pair = await startPair(answer)
  const egress = new Egress({ allow: [ALLOWED], ...options }, 'egress', client)
  onTestFinished(() => egress.close())
  const url = `http://${ALLOWED}:${pair.port}/hooks?a=1`
  const request = { url, method: 'POST', headers: { 'x-one': '1' }, body: Buffer.from('{"a":1}') }
  return { ...pair, egress, request, post: () => egress.request(request) }
}

describe.each(CLIENT_NAMES)('through %s, a request', (name) => {
  const aReceiver = receiversFor(CLIENTS[name])

  test('is sent as it is, and answered as it was', async () => {
    const seen: unknown[] = []
    const { post } = await aReceiver((request, response) => {
      const { method, url, headers } = request
      request.on('data', (chunk: Buffer) => {
        seen.push([method, url, headers['x-one'], headers['accept-encoding'], chunk.toString()])
      })
      request.on('end', () => response.writeHead(202, { 'retry-after': '5' }).end('fine'))
    })

    const outcome = await post()

    expect(outcome).toMatchObject({
      outcome: 'answered',
      status: 202,
      headers: { 'retry-after': '5' },
      isComplete: true,
    })
    expect(outcome.outcome === 'answered' && Buffer.from(outcome.body).toString()).toBe('fine')
    expect(seen).toEqual([['POST', '/hooks?a=1', '1', 'identity', '{"a":1}']])
  })

  test.each([301, 302, 303, 307, 308])('is not sent on by a %s', async (status) => {
    const host = FORBIDDEN.includes(':') ? `[${FORBIDDEN}]` : FORBIDDEN
    const { post, connections } = await aReceiver((request, response) => {
      const location = `http://${host}:${request.socket.localPort}/`
      response.writeHead(status, { location }).end()
    })

    expect(await post()).toMatchObject({ outcome: 'answered', status })
    expect(connections).toEqual({ allowed: 1, canary: 0 })
  })

  test('reads no more of an answer than its cap, though it never ends', async () => {
    let isClosed: (value: boolean) => void = () => undefined
    const closed = new Promise<boolean>((resolve) => (isClosed = resolve))
    const { post } = await aReceiver(
      (_request, response) => {
        const write = (): void => {
          while (!response.destroyed && response.write('x'.repeat(10_000)));
        }
        response.on('drain', write).on('close', () => isClosed(true))
        write()
      },
      // By its cap, and not because its time is over.
      { responseBytesMax: 1_000, requestTimeoutMs: 600_000 },
    )

    const outcome = await post()

    expect(outcome).toMatchObject({ outcome: 'answered', status: 200, isComplete: false })
    expect(outcome.outcome === 'answered' && outcome.body.byteLength).toBe(1_000)
    expect(await closed).toBe(true)
  })

  test('decodes nothing, so that no compression can swell an answer', async () => {
    const bomb = gzipSync(Buffer.alloc(1_000_000))
    const { post } = await aReceiver((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })

    const outcome = await post()

    expect(outcome.outcome === 'answered' && Buffer.from(outcome.body).equals(bomb)).toBe(true)
  })

  test('ends at its deadline, and says that it may have arrived', async () => {
    const { post } = await aReceiver(() => undefined, { requestTimeoutMs: 500 })

    expect(await post()).toMatchObject({
      outcome: 'failed',
      error: { name: 'TimeoutError' },
      mayHaveArrived: true,
    })
  })

  test('ends when nothing has come for too long, before its deadline', async () => {
    const { post } = await aReceiver(() => undefined, { idleTimeoutMs: 300 })

    expect(await post()).toMatchObject({
      outcome: 'failed',
      error: { name: 'TimeoutError' },
      mayHaveArrived: true,
    })
  })

  test.each([
    ['its deadline', { requestTimeoutMs: 500 }],
    ['a silence', { idleTimeoutMs: 300 }],
  ])('is answered once its head is here, though the rest is cut by %s', async (_by, options) => {
    const { post } = await aReceiver((_request, response) => {
      response.writeHead(201, { 'x-one': '1' }).write('beginning')
    }, options)

    const outcome = await post()

    expect(outcome).toMatchObject({ outcome: 'answered', status: 201, isComplete: false })
    expect(outcome.outcome === 'answered' && Buffer.from(outcome.body).toString()).toBe('beginning')
  })

  test('ends when its caller wants it to', async () => {
    const { egress, request } = await aReceiver(() => controller.abort(new Error('stopping')))
    const controller = new AbortController()

    expect(await egress.request({ ...request, signal: controller.signal })).toMatchObject({
      outcome: 'failed',
      error: { message: 'stopping' },
      mayHaveArrived: true,
    })
  })

  test('to a port without a listener has not arrived', async () => {
    const { egress, request } = await aReceiver(() => undefined)
    const closed = await findClosedPort()

    const outcome = await egress.request({ ...request, url: `http://${ALLOWED}:${closed}/` })

    expect(outcome).toMatchObject({
      outcome: 'failed',
      error: { code: 'ECONNREFUSED' },
      mayHaveArrived: false,
    })
  })

  test('that was cut off may have arrived', async () => {
    const { post } = await aReceiver((request) => request.socket.destroy())

    expect(await post()).toMatchObject({ outcome: 'failed', mayHaveArrived: true })
  })

  test('is not sent to a URL that is no destination', async () => {
    const { egress, request, port, connections } = await aReceiver(() => undefined)
    const urls = [`https://user@example.com/`, `http://localhost:${port}/`, 'file:///etc/passwd']

    const outcomes = await Promise.all(urls.map((url) => egress.request({ ...request, url })))

    expect(outcomes.map((one) => one.outcome === 'blocked' && one.reason)).toEqual([
      'credentials',
      'loopback',
      'scheme',
    ])
    expect(connections).toEqual({ allowed: 0, canary: 0 })
  })

  test('takes no proxy from the environment', async () => {
    const { post, port, connections } = await aReceiver((_request, response) => response.end('ok'))
    const proxy = `http://${FORBIDDEN}:${port}`
    vi.stubEnv('http_proxy', proxy).stubEnv('HTTP_PROXY', proxy).stubEnv('NODE_USE_ENV_PROXY', '1')
    onTestFinished(() => void vi.unstubAllEnvs())

    expect(await post()).toMatchObject({ outcome: 'answered' })
    expect(connections).toEqual({ allowed: 1, canary: 0 })
  })

  test('with a header that cannot be one fails before anything is sent', async () => {
    const { egress, request, connections } = await aReceiver(() => undefined)

    const outcome = await egress.request({ ...request, headers: { 'x-a': 'b\r\nx-c: d' } })

    expect(outcome).toMatchObject({ outcome: 'failed', mayHaveArrived: false })
    expect(connections.allowed).toBe(0)
  })
})

describe('the options', () => {
  test.each([
    [{ allowed: [] }, 'egress.allowed'],
    [{ requestTimeoutMs: 0 }, 'egress.requestTimeoutMs'],
    [{ responseBytesMax: -1 }, 'egress.responseBytesMax'],
    [{ resolve: 'dns' }, 'egress.resolve'],
    [{ allow: ['10.0.0.0/99'] }, 'egress.allow.0'],
  ])('%j are refused', (options, option) => {
    expect(() => new Egress(options as EgressOptions)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option }),
    )
  })
})

/** A port at which no server listens any more. */
async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, ALLOWED)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
