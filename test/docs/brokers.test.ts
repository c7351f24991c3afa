/**
 * The consumers of `docs/guides/brokers.md` on real brokers: a process of the reader's is killed before COMMIT, or
 * between COMMIT and its acknowledgement. The message comes again, and its effect has happened once.
 */

import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { RedisServer } from '../support/redis/start-redis.ts'
import { startNats } from '../support/start-nats.ts'
import { findProgram } from '../support/tools/find-or-install.ts'
import { consumeTwice, DEATHS } from './consume-twice.ts'

describe.skipIf(inject('tools').natsServer === null)('a consumer of NATS JetStream', () => {
  test.each(DEATHS)('that is killed %s has its effect once', async (dies) => {
    const env = { NATS_URL: await startNats() }

    expect(await consumeTwice('onNatsMessage', { dies, env, consume: CONSUME_NATS })).toBe(1)
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
