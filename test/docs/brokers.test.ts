/**
 * The consumers of `docs/guides/brokers.md` on real brokers: a process of the reader's is killed before COMMIT, or
 * between COMMIT and its acknowledgement. The message comes again, and its effect has happened once.
 *
 * For Kafka and SQS there is no server here: what is acknowledged is kept in a file, by clients that are called as
 * theirs are.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { RedisServer } from '../support/redis/start-redis.ts'
import { startNats } from '../support/start-nats.ts'
import { findProgram } from '../support/tools/find-or-install.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { consumeAll, consumeTwice, DEATHS } from './consume-twice.ts'
import { listBlocks, readPage } from './markdown.ts'
import { serveBlock } from './serve-block.ts'

describe.skipIf(inject('tools').natsServer === null)('a consumer of NATS JetStream', () => {
  describe.each(['sqlite', 'postgres'] as const)('on %s', (engine) => {
    test.each(DEATHS)('that is killed %s has its effect once', async (dies) => {
      const env = { NATS_URL: await startNats() }
      const terms = { dies, env, consume: CONSUME_NATS, engine }

      expect(await consumeTwice('onNatsMessage', terms)).toBe(1)
    })
  })
})

/** Two different orders whose producer gave them one id. */
describe('a message whose id came before with another payload', () => {
  test.skipIf(inject('tools').natsServer === null)('is ended in JetStream, and kept', async () => {
    const env = { NATS_URL: await startNats() }

    expect(await consumeAll('onNatsMessage', { env, consume: CONFLICT_NATS })).toEqual(['o1'])
  })

  test.skipIf(findProgram('redis-server') === undefined)('is a dead entry of Redis', async () => {
    const server = await new RedisServer().start()
    onTestFinished(() => server.dispose())
    const env = { REDIS_SOCKET: server.address.path }

    expect(await consumeAll('onRedisEntry', { env, consume: CONFLICT_REDIS })).toEqual(['o1'])
  })

  test('is written to the dead records of Kafka, and holds up no partition', async () => {
    expect(await consumeAll('eachMessage', { env: {}, consume: CONFLICT_KAFKA })).toEqual(['o1'])
  })

  test('is named to the trigger of Lambda, as what throws is', async () => {
    const consume = TRIGGER_SQS

    expect(await consumeAll('onSqsBatch', { env: {}, consume })).toEqual(['o1', 'o3'])
  })

  test('is not deleted from SQS', async () => {
    expect(await consumeAll('onSqsMessage', { env: {}, consume: CONFLICT_SQS })).toEqual(['o1'])
  })
})

describe.skipIf(findProgram('redis-server') === undefined)('a consumer of Redis Streams', () => {
  test.each(DEATHS)('that is killed %s has its effect once', async (dies) => {
    const server = await new RedisServer().start()
    onTestFinished(() => server.dispose())
    const env = { REDIS_SOCKET: server.address.path }

    expect(await consumeTwice('onRedisEntry', { dies, env, consume: CONSUME_REDIS })).toBe(1)
  })
})

describe('a consumer of Kafka, by the shape of kafkajs', () => {
  test.each(DEATHS)('that is killed %s has its effect once', async (dies) => {
    const terms = { dies, env: { BROKER: keepBroker() }, consume: CONSUME_KAFKA }

    expect(await consumeTwice('eachMessage', terms)).toBe(1)
  })
})

describe('a consumer of SQS, by the shape of its SDK', () => {
  test.each(DEATHS)('that is killed %s has its effect once', async (dies) => {
    const terms = { dies, env: { BROKER: keepBroker() }, consume: CONSUME_SQS }

    expect(await consumeTwice('onSqsMessage', terms)).toBe(1)
  })
})

test('a message that is handed over to the inbox, and comes again, takes effect once', async () => {
  const block = assembleSnippets(listBlocks(readPage('docs/guides/brokers.md'))).find(({ code }) =>
    code.includes('export async function handOver('),
  )
  const body = `new TextEncoder().encode('{"order":"o1"}')`
  const rows = await serveBlock({
    engine: 'sqlite',
    code: block?.code ?? '',
    tables: ['create table shipments (order_id text)'],
    deliveries: [],
    after: `
      const handed = []
      for (let time = 0; time < 2; time += 1) handed.push(await handOver('evt_1', 'order.placed', ${body}))
      deepEqualOf(handed, [true, true])
      const [{ id }] = (await inbox.admin.list({ source: 'orders' })).events
      while ((await inbox.admin.findEvent(id)).state !== 'done')
        await new Promise((resolve) => setTimeout(resolve, 5))`,
    select: 'select * from shipments',
  })

  expect(rows).toEqual([{ order_id: 'evt_1' }])
})

/** The name of a file in which a broker keeps what was acknowledged, whatever becomes of its consumers. */
function keepBroker(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-broker-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'acknowledged.json')
}

const ACKNOWLEDGED = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const readAcknowledged = () =>
  existsSync(process.env.BROKER) ? JSON.parse(readFileSync(process.env.BROKER, 'utf8')) : []
const acknowledge = (one) => {
  die('after COMMIT')
  writeFileSync(process.env.BROKER, JSON.stringify([...readAcknowledged(), one]))
}
`

/** The producer has sent its record twice. */
const CONSUME_KAFKA = `${ACKNOWLEDGED}
const value = Buffer.from(JSON.stringify({ order: 'o1' }))
const headers = { 'idempotency-key': Buffer.from('order-1') }
const records = [{ offset: '0', value, headers }, { offset: '1', value, headers }]
for (const message of records) {
  if (readAcknowledged().includes(message.offset)) continue
  await eachMessage({ topic: 'orders', partition: 0, message })
  acknowledge(message.offset)
}
await app.stop()
`

/** A receipt handle is another one at each delivery. */
const CONSUME_SQS = `${ACKNOWLEDGED}
globalThis.sqs = {
  deleteMessage: async ({ QueueUrl, ReceiptHandle }) => acknowledge([QueueUrl, ReceiptHandle]),
}
const Body = JSON.stringify({ order: 'o1' })
const QueueUrl = 'https://sqs.eu-west-1.amazonaws.com/1/orders'
const message = { MessageId: 'm1', Body, Attributes: { MessageDeduplicationId: 'order-1' } }
const ReceiptHandle = \`receipt of \${process.pid}\`
await onSqsMessage(QueueUrl, { ...message, ReceiptHandle })
if (JSON.stringify(readAcknowledged()) !== JSON.stringify([[QueueUrl, ReceiptHandle]]))
  throw new Error('the message was not deleted')
await app.stop()
`

const CONSUME_NATS = `
import { connect } from '@nats-io/transport-node'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'

const connection = await connect({ servers: process.env.NATS_URL })
const manager = await jetstreamManager(connection)
const second = 1_000_000_000
if (process.env.DIES !== '') {
  await manager.streams.add({ name: 'orders', subjects: ['orders'] })
  const ack = { ack_policy: AckPolicy.Explicit, ack_wait: second }
  await manager.consumers.add('orders', { durable_name: 'shipping', ...ack })
  const { headers } = await import('@nats-io/transport-node')
  const head = headers()
  head.set('Nats-Msg-Id', 'evt_1')
  await jetstream(connection).publish('orders', JSON.stringify({ order: 'o1' }), { headers: head })
}
const consumer = await jetstream(connection).consumers.get('orders', 'shipping')
for (;;) {
  const message = await consumer.next({ expires: 30_000 })
  if (message === null) throw new Error('the message did not come again')
  const acknowledge = message.ackAck.bind(message)
  message.ackAck = () => (die('after COMMIT'), acknowledge())
  await onNatsMessage(message)
  const { num_ack_pending, num_pending } = await consumer.info()
  if (num_ack_pending === 0 && num_pending === 0) break
}
await connection.close()
await app.stop()
`

const CONFLICT_NATS = `
import { connect, headers } from '@nats-io/transport-node'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { deepEqual, equal } from 'node:assert/strict'

const connection = await connect({ servers: process.env.NATS_URL })
const manager = await jetstreamManager(connection)
// a window that is over at once, as two minutes are for a producer that is late
await manager.streams.add({ name: 'orders', subjects: ['orders'], duplicate_window: 100_000_000 })
const ack = { ack_policy: AckPolicy.Explicit, ack_wait: 1_000_000_000 }
await manager.consumers.add('orders', { durable_name: 'shipping', ...ack })
const head = headers()
head.set('Nats-Msg-Id', 'evt_1')
const publish = async (order) => {
  for (;;) {
    const body = JSON.stringify({ order })
    const { duplicate } = await jetstream(connection).publish('orders', body, { headers: head })
    if (!duplicate) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const terminated = new Promise((resolve, reject) =>
  connection.subscribe('$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>', {
    max: 1,
    callback: (error, message) => (error ? reject(error) : resolve(message.json())),
  }),
)
const consumer = await jetstream(connection).consumers.get('orders', 'shipping')
for (const order of ['o1', 'o2']) {
  await publish(order)
  await onNatsMessage(await consumer.next({ expires: 30_000 }))
}
equal((await terminated).stream_seq, 2)
const { num_ack_pending, num_pending } = await consumer.info()
deepEqual([num_ack_pending, num_pending], [0, 0])
equal((await manager.streams.info('orders')).state.messages, 2)
await connection.close()
await app.stop()
`

const CONFLICT_REDIS = `
import { createClient } from 'redis'
import { deepEqual, equal } from 'node:assert/strict'

const client = await createClient({ socket: { path: process.env.REDIS_SOCKET } }).connect()
globalThis.redis = client
await client.xGroupCreate('orders', 'shipping', '0', { MKSTREAM: true })
for (const order of ['o1', 'o2']) await client.xAdd('orders', '*', { event: 'evt_1', order })
const [stream] = await client.xReadGroup('shipping', 'first', { key: 'orders', id: '>' })
for (const entry of stream.messages) await onRedisEntry(entry)
const dead = await client.xRange('orders:dead', '-', '+')
deepEqual(dead.map(({ message }) => ({ ...message })), [{ event: 'evt_1', order: 'o2' }])
equal((await client.xPending('orders', 'shipping')).pending, 0)
client.destroy()
await app.stop()
`

const CONFLICT_KAFKA = `
import { deepEqual } from 'node:assert/strict'

const sent = []
globalThis.producer = { send: async (record) => void sent.push(record) }
const headers = { 'idempotency-key': Buffer.from('order-1') }
const [one, other] = ['o1', 'o2'].map((order, nth) => (
  { offset: String(nth), value: Buffer.from(JSON.stringify({ order })), headers }
))
for (const message of [one, one, other]) await eachMessage({ topic: 'orders', partition: 0, message })
deepEqual(sent, [{ topic: 'orders.dead', messages: [other] }])
await app.stop()
`

const TRIGGER_SQS = `
import { deepEqual } from 'node:assert/strict'

const logged = []
console.error = (...words) => logged.push(words[1])
const record = (messageId, order, attributes = {}) => (
  { messageId, body: order === null ? 'no JSON' : JSON.stringify({ order }), attributes }
)
const failed = async (...Records) =>
  (await onSqsBatch({ Records })).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
const as = (id, group) => ({ MessageDeduplicationId: id, ...(group ? { MessageGroupId: group } : {}) })

deepEqual(await failed(record('m1', 'o1', as('a')), record('m2', 'o1', as('a'))), [])
deepEqual(await failed(record('m3', 'o2', as('a')), record('m4', null), record('m5', 'o3')), ['m3', 'm4'])
deepEqual(logged, ['m4'])
// In a FIFO queue nothing overtakes one that failed.
deepEqual(await failed(record('m6', null, as('b', 'g')), record('m7', 'o4', as('c', 'g'))), ['m6', 'm7'])
await app.stop()
`

const CONFLICT_SQS = `
import { deepEqual, rejects } from 'node:assert/strict'

const deleted = []
globalThis.sqs = { deleteMessage: async ({ ReceiptHandle }) => deleted.push(ReceiptHandle) }
const consume = (order, ReceiptHandle) => onSqsMessage('https://sqs.eu-west-1.amazonaws.com/1/orders', {
  ReceiptHandle,
  Body: JSON.stringify({ order }),
  Attributes: { MessageDeduplicationId: 'order-1' },
})
await consume('o1', 'first')
await consume('o1', 'again')
await rejects(consume('o2', 'other'), /order-1 came before with another body/)
deepEqual(deleted, ['first', 'again'])
await app.stop()
`

const CONSUME_REDIS = `
import { createClient } from 'redis'

const client = await createClient({ socket: { path: process.env.REDIS_SOCKET } }).connect()
globalThis.redis = {
  xAck: (...args) => (die('after COMMIT'), client.xAck(...args)),
}
if (process.env.DIES !== '') {
  await client.xGroupCreate('orders', 'shipping', '0', { MKSTREAM: true })
  await client.xAdd('orders', '*', { event: 'evt_1', order: 'o1' })
  const [stream] = await client.xReadGroup('shipping', 'first', { key: 'orders', id: '>' })
  for (const entry of stream.messages) await onRedisEntry(entry)
}
// what the dead one had read is taken over
const { messages } = await client.xAutoClaim('orders', 'shipping', 'second', 0, '0')
if (messages.length !== 1) throw new Error('the entry did not come again')
for (const entry of messages) await onRedisEntry(entry)
const { pending } = await client.xPending('orders', 'shipping')
if (pending !== 0) throw new Error('the entry is still pending')
client.destroy()
await app.stop()
`
