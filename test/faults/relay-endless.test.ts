/** Answers that are too much: of all of them a relay reads a beginning, as it came, and for a limited time. */

import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { brotliCompressSync, constants } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import { CLIENTS, SENDERS } from '../support/egress/clients.ts'
import type { ClientName } from '../support/egress/clients.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'

const KEPT_BYTES_MAX = 65_536
const BOMB = brotliCompressSync(Buffer.alloc(50 * 1_048_576), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 3 },
})
/** More than a socket and its buffers hold, and next to nothing of what is offered. */
const READ_BYTES_MAX = 32 * 1_048_576

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** For an answer that ends by itself: no pause of a busy machine is taken for its end. */
const WHOLE = { timeoutMs: 50_000, idleTimeoutMs: 40_000 }
/** For one that does not. */
const CUT = { timeoutMs: 1_500, idleTimeoutMs: 600 }

function destinationThrough(name: ClientName) {
  const retry = { ...AT_ONCE, firstMs: 600_000, maxMs: 600_000 }
  const client = CLIENTS[name]
  return (url: string, times: typeof WHOLE & { readonly retry?: typeof AT_ONCE }) =>
    httpDestination('sink', { url, allow: ['127.0.0.1'], retry, client, ...times })
}

describe.each(SENDERS)('X09: on $engine through $client, an answer', ({ engine, client }) => {
  const to = destinationThrough(client)

  test('of 5 GB is sent by its head, and read no further than is kept', async () => {
    const outbox = await openOutbox(engine)
    let written = 0
    const chunk = Buffer.alloc(65_536, 'x')
    const server = http.createServer((_request, response) => {
      response.writeHead(200, { 'content-length': 5 * 1_024 ** 3 })
      const write = (): void => {
        do written += chunk.byteLength
        while (!response.destroyed && response.write(chunk))
      }
      response.on('drain', write)
      write()
    })
    await outbox.write(1)

    await outbox.relay([to(await listen(server), WHOLE)])
    const [sent] = await outbox.untilIn('sent')

    expect(sent?.outcome?.response?.body.byteLength).toBe(KEPT_BYTES_MAX)
    expect(written).toBeLessThan(READ_BYTES_MAX)
  })

  test('that never ends is sent by its head, when its time is over', async () => {
    const outbox = await openOutbox(engine)
    const server = http.createServer((_request, response) => {
      response.writeHead(200)
      response.write('x')
      const drip = setInterval(() => response.write('x'), 50)
      response.on('close', () => clearInterval(drip))
    })
    await outbox.write(1)

    // A machine may be so busy that the time is over before the head is there: then it is sent again.
    await outbox.relay([to(await listen(server), { ...CUT, retry: AT_ONCE })])
    const [sent] = await outbox.untilIn('sent')

    expect(Buffer.from(sent!.outcome!.response!.body).toString()).toMatch(/^x+$/)
  })

  test('whose head never ends is in doubt, when its time is over', async () => {
    const outbox = await openOutbox(engine)
    const server = net.createServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-long: ')
      const drip = setInterval(() => socket.write('x'), 50)
      socket.on('close', () => clearInterval(drip)).on('error', () => undefined)
    })
    await outbox.write(1)

    const relay = await outbox.relay([to(await listen(server), CUT)])
    const failed = await relay.untilHappened('message.failed')

    expect(failed.reason).toBe('timeout')
    expect((await outbox.untilIn('ready'))[0]?.uncertainSince).toBeInstanceOf(Date)
  })

  test('that does not come at all is in doubt', async () => {
    const outbox = await openOutbox(engine)
    await outbox.write(1)

    const relay = await outbox.relay([to(await listen(http.createServer(() => undefined)), CUT)])
    const failed = await relay.untilHappened('message.failed')

    expect(failed.reason).toBe('timeout')
    expect((await outbox.untilIn('ready'))[0]?.uncertainSince).toBeInstanceOf(Date)
  })

  test.each([
    ['in Brotli', 'br'],
    ['in a thousand encodings', Array(1_000).fill('gzip').join(', ')],
  ])('of 50 MiB in a few bytes, %s, is kept as it came', async (_what, encoding) => {
    const outbox = await openOutbox(engine)
    const server = http.createServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(BOMB)
    })
    await outbox.write(1)

    await outbox.relay([to(await listen(server), WHOLE)])
    const [sent] = await outbox.untilIn('sent')

    expect(Buffer.from(sent!.outcome!.response!.body).equals(BOMB)).toBe(true)
  })
})
