import { createHmac } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SourceMap } from '../../src/model/event-types.ts'
import { createReceiver } from '../../src/http/node.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { github, standardWebhooks } from '../../src/providers/index.ts'
import type { ReceiveOptions } from '../../src/receive/options.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { rawExchange, rawSender, statuses } from '../support/raw-exchange.ts'

const KEY = Buffer.alloc(32, 7)
const SECRET = `whsec_${KEY.toString('base64')}`
const SOURCES: SourceMap = { partner: standardWebhooks({ secrets: [SECRET] }) }

describe('a receiver in front of a real inbox', () => {
  test('R46: an event whose sender went away after the body is stored, and its retry is a duplicate', async () => {
    await using receiver = await openReceiver()

    const sender = await rawSender(receiver.port)
    const accepted = new Promise((resolve) =>
      receiver.inbox.events.on('delivery.accepted', resolve),
    )
    sender.socket.end(signed('msg_1'))
    sender.socket.destroySoon()
    await accepted

    expect(await rawExchange(receiver.port, signed('msg_1'))).toContain('{"status":"duplicate"')
    expect(await rawExchange(receiver.port, signed('msg_2'))).toContain('{"status":"accepted"')
  })

  test('R39: a second id in front of a well-signed one is 400, and never a key', async () => {
    await using receiver = await openReceiver()

    const answer = await rawExchange(receiver.port, signed('msg_1', 'webhook-id: evil\r\n'))

    expect(statuses(answer)).toEqual([400])
    expect(await rawExchange(receiver.port, signed('msg_1'))).toContain('{"status":"accepted"')
  })

  test('a body that is too large, or does not come, leaves a line that says so', async () => {
    await using receiver = await openReceiver({ bodyBytesMax: 100, bodyTimeoutMs: 50 })
    const reasons: string[] = []
    receiver.inbox.events.on('delivery.malformed', ({ source, reason }) =>
      reasons.push(`${source} ${reason}`),
    )
    const head = 'POST /in/partner HTTP/1.1\r\nhost: x\r\n'

    const declared = await rawExchange(receiver.port, `${head}content-length: 101\r\n\r\n`)
    const chunked = await rawExchange(
      receiver.port,
      `${head}transfer-encoding: chunked\r\n\r\n65\r\n${'a'.repeat(101)}\r\n`,
    )
    const late = await rawExchange(receiver.port, `${head}content-length: 10\r\n\r\nabc`)

    expect([declared, chunked, late].map(statuses)).toEqual([[413], [413], [408]])
    expect(reasons).toEqual(['partner too-large', 'partner too-large', 'partner too-slow'])
  })

  test('R62: a body for which there is no room leaves a line that says so', async () => {
    await using receiver = await openReceiver({ inFlightBytesMax: 1_048_576 })
    const said: unknown[] = []
    receiver.inbox.events.on('delivery.unavailable', (happening) => said.push(happening))
    receiver.inbox.inFlight.take(1_048_576)

    const answer = await rawExchange(receiver.port, signed('msg_1'))
    receiver.inbox.inFlight.giveBack(1_048_576)

    expect(statuses(answer)).toEqual([503])
    expect(said).toMatchObject([
      { source: 'partner', error: { code: 'RECEIVE_FULL', retryable: true } },
    ])
    expect(await rawExchange(receiver.port, signed('msg_1'))).toContain('{"status":"accepted"')
  })

  test('R63: each source has a largest body of its own, or that of the inbox', async () => {
    const sources = {
      small: standardWebhooks({ secrets: [SECRET], bodyBytesMax: 100 }),
      large: standardWebhooks({ secrets: [SECRET], bodyBytesMax: 3_000 }),
      usual: standardWebhooks({ secrets: [SECRET] }),
      hub: github({ secrets: [SECRET] }),
    }
    await using receiver = await openReceiver({ bodyBytesMax: 1_000 }, sources)
    const head = (name: string) => `POST /in/${name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`
    const send = async (name: string, length: number): Promise<string> => {
      const declared = `${head(name)}content-length: ${length}\r\n\r\n${'x'.repeat(length)}`
      const chunk = `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`
      const chunked = `${head(name)}transfer-encoding: chunked\r\n\r\n${chunk}`
      const answers = [
        await rawExchange(receiver.port, declared),
        await rawExchange(receiver.port, chunked),
      ]
      return answers.map((answer) => String(statuses(answer))).join()
    }

    expect([await send('small', 100), await send('small', 101)]).toEqual(['401,401', '413,413'])
    expect([await send('usual', 1_000), await send('usual', 1_001)]).toEqual(['401,401', '413,413'])
    expect([await send('large', 3_000), await send('large', 3_001)]).toEqual(['401,401', '413,413'])
    expect(await send('hub', 2_000_000)).toBe('401,401')
    expect(
      await rawExchange(receiver.port, `${head('hub')}content-length: 26214401\r\n\r\n`),
    ).toContain('{"error":"body_too_large","max":26214400}')
  })

  test('a stopped inbox is not ready, and tells senders to come again', async () => {
    await using receiver = await openReceiver()

    await receiver.inbox.stop()

    expect((await fetch(`http://127.0.0.1:${receiver.port}/readyz`)).status).toBe(503)
    expect(statuses(await rawExchange(receiver.port, signed('msg_1')))).toEqual([503])
  })
})

async function openReceiver(receive: ReceiveOptions = {}, sources: SourceMap = SOURCES) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-http-'))
  const inbox = createInbox({
    store: sqliteStore(path.join(folder, 'hooks.db')),
    sources,
    worker: false,
    receive,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  await inbox.start()
  const receiver = createReceiver(inbox)
  const { port } = await receiver.listen()
  return {
    inbox,
    port,
    async [Symbol.asyncDispose]() {
      await receiver.drain()
      await inbox.stop()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A whole request, signed as the specification says. */
function signed(id: string, before = ''): string {
  const body = '{ "type" : "order.paid" }'
  const timestamp = Math.floor(Date.now() / 1_000)
  const signature = createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64')
  return (
    `POST /in/partner HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${before}` +
    `webhook-id: ${id}\r\nwebhook-timestamp: ${timestamp}\r\nwebhook-signature: v1,${signature}\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`
  )
}
