/**
 * The consumer of `docs/guides/brokers.md` on a real RabbitMQ, killed as those of `brokers.test.ts` are. The server
 * takes a minute to start, so only `npm run test:all` runs this, and nothing installs it.
 */

import { describe, expect, test } from 'vitest'
import { hasRabbitmq, startRabbitmq } from '../support/start-rabbitmq.ts'
import { consumeAll, consumeTwice, DEATHS } from './consume-twice.ts'

if (!hasRabbitmq)
  console.warn('\n*** There is no rabbitmq-server on this machine. Its tests are SKIPPED. ***\n')

describe.skipIf(!hasRabbitmq)('a consumer of RabbitMQ', () => {
  test.each(DEATHS)('that is killed %s has its effect once', { timeout: 900_000 }, async (dies) => {
    const env = { AMQP_URL: await startRabbitmq() }

    expect(await consumeTwice('onRabbitMessage', { dies, env, consume: CONSUME })).toBe(1)
  })

  test(
    'puts to the dead letters what it will never be able to do, and back what it may',
    {
      timeout: 900_000,
    },
    async () => {
      const env = { AMQP_URL: await startRabbitmq() }

      const shipped = await consumeAll('onRabbitMessage', { env, consume: REFUSE })
      expect(shipped.sort()).toEqual(['o1', 'o3'])
    },
  )
})

/** `o2` has the id of `o1`, `o3` fails once, `o4` has no id. */
const REFUSE = `
import amqp from 'amqplib'
import { deepEqual } from 'node:assert/strict'

const connection = await amqp.connect(process.env.AMQP_URL)
const opened = await connection.createConfirmChannel()
await opened.assertQueue('orders.dead', { durable: true })
const arguments_ = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'orders.dead' }
await opened.assertQueue('orders', { durable: true, arguments: arguments_ })
const acked = []
const put = []
globalThis.channel = {
  ack: (message) => (acked.push(message), opened.ack(message)),
  nack: (message, allUpTo, requeue) => {
    put.push([JSON.parse(message.content).order, requeue])
    opened.nack(message, allUpTo, requeue)
  },
}
const logged = []
console.error = (...words) => logged.push(words)
const { once } = inbox
let hasFailed = false
globalThis.inbox = {
  once: (tx, terms, work) =>
    once(tx, terms, async () => {
      await work()
      if (terms.key !== 'evt_3' || hasFailed) return
      hasFailed = true
      throw new Error('no room')
    }),
}
const send = (order, messageId) =>
  opened.sendToQueue('orders', Buffer.from(JSON.stringify({ order })), { messageId, persistent: true })
send('o1', 'evt_1')
send('o2', 'evt_1')
send('o3', 'evt_3')
send('o4', undefined)
await opened.waitForConfirms()
await opened.prefetch(1)
const dead = await new Promise((resolve, reject) => {
  const found = []
  const look = () => found.length === 2 && acked.length === 2 && resolve(found.sort())
  const read = (message) => {
    found.push(JSON.parse(message.content).order)
    opened.ack(message)
    look()
  }
  opened.consume('orders.dead', read, { noAck: false }).catch(reject)
  opened.consume('orders', (message) => onRabbitMessage(message).then(look, reject), { noAck: false }).catch(reject)
})
deepEqual(dead, ['o2', 'o4'])
deepEqual(put.sort(), [['o2', false], ['o3', true], ['o4', false]])
deepEqual(logged.map(([text, key, error]) => [text, key, error.message]), [
  ['a message goes back to its queue', 'evt_3', 'no room'],
])
await opened.close()
await connection.close()
await app.stop()
`

const CONSUME = `
import amqp from 'amqplib'

const connection = await amqp.connect(process.env.AMQP_URL)
const opened = await connection.createConfirmChannel()
let settled
globalThis.channel = {
  ack: (message) => (die('after COMMIT'), opened.ack(message), settled()),
  nack: (...args) => (opened.nack(...args), settled(new Error('it was put back'))),
}
await opened.assertQueue('orders', { durable: true })
if (process.env.DIES !== '') {
  const body = Buffer.from(JSON.stringify({ order: 'o1' }))
  opened.sendToQueue('orders', body, { messageId: 'evt_1', persistent: true })
  await opened.waitForConfirms()
}
await opened.prefetch(10)
const isRedelivered = await new Promise((resolve, reject) => {
  opened.consume('orders', (message) => {
    settled = (error) => (error ? reject(error) : resolve(message.fields.redelivered))
    onRabbitMessage(message).catch(reject)
  }, { noAck: false }).catch(reject)
})
if (!isRedelivered) throw new Error('the message did not come again')
await opened.close()
const looking = await connection.createChannel()
const { messageCount } = await looking.checkQueue('orders')
if (messageCount !== 0) throw new Error('the message is still in the queue')
await connection.close()
await app.stop()
`
