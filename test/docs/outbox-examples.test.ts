/**
 * The destinations of `docs/guides/outbox.md`, each in an inbox with a relay: the first attempt is taken and
 * its answer lost, and then it is seen where the key went, and that it happened once where keys are honoured.
 *
 * Stripe's own client talks to a server of ours, a mail API is one, and JetStream is real, client and server.
 * RabbitMQ, Kafka and SQS are what the example declares of their clients, with what they keep behind it.
 */

import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { startNats } from '../support/start-nats.ts'
import { startSink } from '../support/sink.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

const blocks = assembleSnippets(listBlocks(readPage('docs/guides/outbox.md'))).filter(({ code }) =>
  code.includes('export const'),
)
const TESTED = ['labels', 'refunds', 'receipts', 'orders', 'invoices', 'events', 'jobs']

/** Runs the block that exports `name`, and then the trial, which has `relay(payload)`. */
async function run(
  name: string,
  trial: string,
  { env = {}, change = (code: string) => code } = {},
): Promise<void> {
  const block = blocks.find(({ code }) => code.includes(`export const ${name} `))
  const code = `${change(block?.code ?? '')}\n${harness(name)}\n${trial}`
  expect(await runSnippet({ code }, env)).toEqual({ code: 0, stderr: '' })
}

describe('the destinations of the guide', () => {
  test('are all tried here', () => {
    expect(blocks.map(({ code }) => /export const (\w+)/.exec(code)?.[1])).toEqual(TESTED)
  })

  test('labels: what was printed is looked up by its key, and not printed again', async () => {
    await run(
      'labels',
      `const printed = []
      globalThis.printer = {
        print: async (id) => { printed.push(id); throw new Error('the answer is lost') },
        hasPrinted: async (id) => printed.includes(id),
      }
      const { state, key } = await relay({ page: 1 })
      assert.equal(state, 'sent')
      assert.deepEqual(printed, [key])`,
    )
  })

  test('refunds: Stripe gets the key as its Idempotency-Key, and refunds once', async () => {
    const sink = await startSink({
      answer: ({ body, nth }) => {
        if (body.includes('ch_gone')) return stripeError(400, 'invalid_request_error')
        if (body.includes('ch_busy') && nth === 1) return stripeError(429, 'rate_limit_error')
        if (body.includes('ch_lost') && nth === 1) return 'cut'
        return { status: 200, body: '{"id":"re_1","object":"refund"}' }
      },
    })
    await run(
      'refunds',
      `assert.equal((await relay({ charge: 'ch_lost' })).state, 'sent')
      const busy = await relay({ charge: 'ch_busy' })
      assert.equal(busy.state, 'sent')
      assert.equal(busy.failures[0].message, 'NotSentError: busy')
      const gone = await relay({ charge: 'ch_gone' })
      assert.equal(gone.state, 'dead')
      assert.equal(gone.uncertainSince, undefined)`,
      {
        change: (code) => {
          const options = '{ maxNetworkRetries: 0 }'
          expect(code).toContain(options)
          const to = `protocol: 'http', host: '127.0.0.1', port: ${sink.port}`
          return code.replace(options, `{ maxNetworkRetries: 0, ${to} }`)
        },
      },
    )

    expect(sink.list().map(({ path, body, nth }) => [path, body, nth])).toEqual([
      ['/v1/refunds', 'charge=ch_lost', 1],
      ['/v1/refunds', 'charge=ch_lost', 2],
      ['/v1/refunds', 'charge=ch_busy', 1],
      ['/v1/refunds', 'charge=ch_busy', 2],
      ['/v1/refunds', 'charge=ch_gone', 1],
    ])
    expect(sink.listMixedKeys()).toEqual([])
    for (const { key } of sink.list()) expect(key).toMatch(/^ho_/)
  })

  test('receipts: a mail that was sent is found by the key in its metadata, and not sent again', async () => {
    const api = await startMailApi()
    await run(
      'receipts',
      `const url = process.env.MAIL_URL
      globalThis.mail = {
        send: async (mail) => {
          const response = await fetch(url + '/email', { method: 'POST', body: JSON.stringify(mail) })
          if (!response.ok) throw new Error('answered ' + response.status)
        },
        search: async ({ metadata }) => {
          const response = await fetch(url + '/messages?key=' + encodeURIComponent(metadata.key))
          return (await response.json()).messages
        },
      }
      const { state, key } = await relay({ to: 'a@example.com' })
      assert.equal(state, 'sent')
      const { messages } = await (await fetch(url + '/messages?key=' + key)).json()
      assert.deepEqual(messages, [{ to: 'a@example.com', template: 'receipt', metadata: { key } }])`,
      { env: { MAIL_URL: api.url } },
    )
    expect(api.countSent()).toBe(1)
  })

  test.skipIf(inject('tools').natsServer === null)(
    'orders: JetStream drops the second by the key',
    async () => {
      const server = await startNats()
      await run(
        'orders',
        `import { connect } from '@nats-io/transport-node'
        import { jetstream as open, jetstreamManager } from '@nats-io/jetstream'
        const connection = await connect({ servers: process.env.NATS_URL })
        const manager = await jetstreamManager(connection)
        const window = 120_000 * 1_000_000
        await manager.streams.add({ name: 'orders', subjects: ['orders'], duplicate_window: window })
        const acks = []
        const real = open(connection)
        globalThis.jetstream = {
          publish: async (...args) => {
            acks.push(await real.publish(...args))
            if (acks.length === 1) throw new Error('the answer is lost')
          },
        }
        const { state, key } = await relay({ order: 7 })
        assert.equal(state, 'sent')
        assert.deepEqual(acks.map(({ duplicate }) => duplicate === true), [false, true])
        const { state: kept } = await manager.streams.info('orders')
        assert.equal(kept.messages, 1)
        const message = await manager.streams.getMessage('orders', { seq: 1 })
        assert.equal(message.header.get('Nats-Msg-Id'), key)
        assert.deepEqual(message.json(), { order: 7 })
        await connection.close()`,
        { env: { NATS_URL: server } },
      )
    },
  )

  test('invoices: RabbitMQ has it twice with one messageId, by which a consumer knows it', async () => {
    await run(
      'invoices',
      `const queue = []
      globalThis.channel = {
        publish: (exchange, routingKey, content, options, confirm) => {
          assert.ok(Buffer.isBuffer(content))
          queue.push({ exchange, routingKey, content: content.toString(), ...options })
          setImmediate(() => confirm(queue.length === 1 ? new Error('nacked') : null))
          return true
        },
      }
      const { state, key, resent } = await relay({ invoice: 7 })
      const message = { messageId: key, persistent: true, content: '{"invoice":7}' }
      assert.equal(state, 'sent')
      assert.equal(resent, 1)
      assert.deepEqual(queue, Array(2).fill({ exchange: 'billing', routingKey: 'invoice', ...message }))`,
    )
  })

  test('events: Kafka has it twice with one header, by which a consumer knows it', async () => {
    await run(
      'events',
      `const log = []
      globalThis.producer = {
        send: async ({ topic, messages }) => {
          log.push(...messages.map((message) => ({ topic, ...message, value: message.value.toString() })))
          if (log.length === 1) throw new Error('the answer is lost')
        },
      }
      const { state, key, resent } = await relay({ event: 7 })
      assert.equal(state, 'sent')
      assert.equal(resent, 1)
      const record = { topic: 'events', key, value: '{"event":7}', headers: { 'idempotency-key': key } }
      assert.deepEqual(log, [record, record])`,
    )
  })

  test('jobs: a FIFO queue of SQS drops the second by its MessageDeduplicationId', async () => {
    await run(
      'jobs',
      `const sent = []
      const queue = new Map()
      globalThis.sqs = {
        sendMessage: async (input) => {
          assert.match(input.MessageDeduplicationId, /^[\\w!"#$%&'()*+,./:;<=>?@[\\\\\\]^\`{|}~-]{1,128}$/)
          sent.push(input)
          if (!queue.has(input.MessageDeduplicationId)) queue.set(input.MessageDeduplicationId, input)
          if (sent.length === 1) throw new Error('the answer is lost')
          return { MessageId: 'same' }
        },
      }
      const { state, key } = await relay({ job: 7 })
      assert.equal(state, 'sent')
      assert.equal(sent.length, 2)
      assert.deepEqual([...queue.values()], [
        { QueueUrl: 'https://queue', MessageBody: '{"job":7}', MessageGroupId: 'jobs', MessageDeduplicationId: key },
      ])`,
      { env: { QUEUE_URL: 'https://queue' } },
    )
  })
})

function stripeError(status: number, type: string) {
  return { status, body: JSON.stringify({ error: { type, message: 'busy' } }) }
}

/** Sends what is posted, without an answer to the first, and finds it by the key in its metadata. */
async function startMailApi(): Promise<{ readonly url: string; countSent(): number }> {
  const sent: { readonly metadata: { readonly key: string } }[] = []
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://api')
    if (pathname === '/messages') {
      const messages = sent.filter(({ metadata }) => metadata.key === searchParams.get('key'))
      return void response.end(JSON.stringify({ messages }))
    }
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      sent.push(JSON.parse(body) as (typeof sent)[number])
      request.socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, countSent: () => sent.length }
}

/** An inbox whose handler sends, and a relay that tries again at once; otherwise as the example has it. */
function harness(name: string): string {
  return `
import assert from 'node:assert/strict'
import { createInbox } from 'hookonce'
import { hmac } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { sign } from 'hookonce/testing'

async function relay(payload) {
  const retry = { firstMs: 1, factor: 1, maxMs: 1, attemptsMax: 5 }
  const quick = { ...${name}, policy: { ...${name}.policy, retry } }
  const options = { header: 'x-signature', algorithm: 'sha256', encoding: 'hex', key: 'json:$.id', type: 'json:$.type', secrets: ['thirty-two characters of a secret'] }
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const inbox = createInbox({
    store: sqliteStore('app.db'),
    sources: { app: hmac(options) },
    destinations: [quick],
    relay: { pollMs: 10 },
    logger: silent,
  })
  inbox.on('app', '*', async (event, { send }) => void (await send(quick.name, event.payload.payload)))
  let resent = 0
  inbox.events.on('message.resent', () => (resent += 1))
  const ended = new Promise((resolve) => {
    for (const end of ['sent', 'dead', 'unknown']) inbox.events.on('message.' + end, resolve)
  })
  await inbox.start()
  const body = JSON.stringify({ id: crypto.randomUUID(), type: 'thing', payload })
  await inbox.receive('app', sign('hmac', { body }, options))
  const { messageId } = await ended
  const message = await inbox.admin.findMessage(messageId)
  await inbox.stop()
  assert.match(message.key, /^ho_/)
  return { ...message, resent }
}
`
}
