import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import type { Receiver } from '../../src/http/node.ts'
import { chunkOf, writeUntilClosed } from '../support/endless-body.ts'
import { until } from '../support/faults/until.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import type { RawSender } from '../support/raw-exchange.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

const CAP = 1_048_576
const HEAD = 'POST /in/stripe HTTP/1.1\r\nhost: x\r\n'

describe('R35: a body without end', () => {
  test('2 GiB in chunks without a length are 413, and the socket is closed within 64 KiB of the cap', async () => {
    const inbox = recordingInbox({ bodyBytesMax: CAP })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const read = bytesReadOfNextConnection(receiver)

    const sender = await rawSender(port)
    sender.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
    const wanted = 2 * 1024 ** 3
    const written = await writeUntilClosed(sender, chunkOf(65_536), wanted)
    const answer = await sender.closed

    expect(statuses(answer)).toEqual([413])
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(written).toBeLessThan(wanted)
    // Beside the body there are the request's head and a few bytes around each chunk.
    expect(await read).toBeLessThanOrEqual(CAP + 65_536 + 1_024)
    expect(inbox.received).toEqual([])
  })

  test('a declared length over the cap is 413 before any of it is sent', async () => {
    const inbox = recordingInbox({ bodyBytesMax: CAP })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()

    const sender = await rawSender(port)
    sender.write(`${HEAD}content-length: ${CAP + 1}\r\n\r\n`)

    expect(statuses(await sender.closed)).toEqual([413])
    expect(inbox.received).toEqual([])
  })

  test('a sender that asks first is told 413 instead of being told to go on', async () => {
    await using receiver = createReceiver(recordingInbox({ bodyBytesMax: CAP }))
    const { port } = await receiver.listen()

    const refused = await rawSender(port)
    refused.write(`${HEAD}content-length: ${CAP + 1}\r\nexpect: 100-continue\r\n\r\n`)
    const welcome = await rawSender(port)
    welcome.write(`${HEAD}connection: close\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`)
    await welcome.answered('100 Continue')
    welcome.write('{}')

    expect(statuses(await refused.closed)).toEqual([413])
    expect(statuses(await welcome.closed)).toEqual([100, 200])
  })

  test('a length shorter than the body delivers the declared bytes, and the rest is 400', async () => {
    const inbox = recordingInbox({ bodyBytesMax: CAP })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()

    const sender = await rawSender(port)
    sender.write(`${HEAD}content-length: 2\r\n\r\n{}{"smuggled":true}`)

    expect(statuses(await sender.closed)).toContain(400)
    expect(inbox.received.map(({ delivery }) => Buffer.from(delivery.body).toString())).toEqual([
      '{}',
    ])
  })

  test('a body of single-byte chunks is held as its bytes', async () => {
    const inbox = recordingInbox({ bodyBytesMax: CAP })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const length = 50_000

    const sender = await rawSender(port)
    sender.write(`${HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n`)
    sender.write(`${'1\r\nx\r\n'.repeat(length)}0\r\n\r\n`)

    expect(statuses(await sender.closed)).toEqual([200])
    expect(Buffer.from(inbox.received[0]?.delivery.body ?? []).toString()).toBe('x'.repeat(length))
  })
})

const SOON = { limitMs: 25_000, everyMs: 100 }

describe('R38: senders that take their time', () => {
  // Node by itself looks for slow headers every 30 s only; the limit is below that, counted in looks.
  test('500 slow bodies and 500 slow headers are closed with 408, and honest requests are answered meanwhile', async () => {
    const inbox = recordingInbox({ bodyTimeoutMs: 400 })
    await using receiver = createReceiver(inbox, { headersTimeoutMs: 400 })
    const { port } = await receiver.listen()
    const told = new Set<number>()
    receiver.server.on('request', (request, response) => {
      if (request.headers['content-length'] === '1000')
        response.on('close', () => told.add(response.statusCode))
    })
    const slowBodies = await senders(port, 500, `${HEAD}content-length: 1000\r\n\r\n`)
    const slowHeaders = await senders(port, 500, HEAD)
    const slow = [...slowBodies, ...slowHeaders]
    const resets = new Set<unknown>()
    for (const sender of slow) sender.socket.on('error', () => resets.add(sender))
    const dripping = slow.map((sender) => drip(sender, 'x'))

    const honest = await Promise.all(Array.from({ length: 20 }, () => sendUntilTaken(port)))
    await until('all are closed', () => slow.every(({ socket }) => socket.closed), SOON)
    const answers = await Promise.all(slow.map(({ closed }) => closed))
    dripping.forEach(clearInterval)

    expect(honest).toEqual(honest.map(() => 200))
    // What arrives after the end is answered with a reset, which may overtake the answer.
    const heard = answers.filter((_, index) => !resets.has(slow[index]))
    expect(heard.map(statuses)).toEqual(heard.map(() => [408]))
    expect(heard.length).toBeGreaterThan(0)
    // And those that did not hear it were told the same.
    expect(told).toEqual(new Set([408]))
    expect(inbox.received).toHaveLength(honest.length)
  })

  test('a connection over the limit is closed at once, and one that ends makes room', async () => {
    await using receiver = createReceiver(recordingInbox(), { connectionsMax: 2 })
    const { port } = await receiver.listen()
    const [first, second] = await senders(port, 2, HEAD)
    const third = await rawSender(port)

    expect(await third.closed).toBe('')
    const ended = new Promise((resolve) => serverSockets(receiver, resolve))
    first?.write('connection: close\r\ncontent-length: 2\r\n\r\n{}')
    expect(statuses((await first?.closed) ?? '')).toEqual([200])
    second?.socket.destroy()
    await ended
    const next = await rawSender(port)
    next.write(`${HEAD}connection: close\r\ncontent-length: 2\r\n\r\n{}`)
    expect(statuses(await next.closed)).toEqual([200])
  })
})

/** As a sender does: on a machine that is busy enough an honest request is a slow one, and is sent again. */
async function sendUntilTaken(port: number): Promise<number> {
  for (;;) {
    const { status } = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
      method: 'POST',
      body: '{}',
    })
    if (status !== 408) return status
  }
}

/** Resolves when no connection is left. */
function serverSockets(receiver: Receiver, resolve: (value: unknown) => void): void {
  receiver.server.getConnections((_error, count) => {
    if (count === 0) resolve(undefined)
    else setImmediate(() => serverSockets(receiver, resolve))
  })
}

function bytesReadOfNextConnection(receiver: Receiver): Promise<number> {
  return new Promise((resolve) => {
    receiver.server.once('connection', (socket: Socket) => {
      socket.once('close', () => resolve(socket.bytesRead))
    })
  })
}

async function senders(port: number, count: number, bytes: string): Promise<RawSender[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const sender = await rawSender(port)
      sender.write(bytes)
      return sender
    }),
  )
}

function drip(sender: RawSender, bytes: string): NodeJS.Timeout {
  return setInterval(() => sender.socket.writable && sender.write(bytes), 50)
}
