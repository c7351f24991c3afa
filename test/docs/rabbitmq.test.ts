/**
 * The consumer of `docs/guides/brokers.md` on a real RabbitMQ, killed as those of `brokers.test.ts` are. The server
 * takes a minute to start, so only `npm run test:all` runs this, and nothing installs it.
 */

import { describe, expect, test } from 'vitest'
import { hasRabbitmq, startRabbitmq } from '../support/start-rabbitmq.ts'
import { consumeTwice, DEATHS } from './consume-twice.ts'

if (!hasRabbitmq)
  console.warn('\n*** There is no rabbitmq-server on this machine. Its tests are SKIPPED. ***\n')

describe.skipIf(!hasRabbitmq)('a consumer of RabbitMQ', () => {
  test.each(DEATHS)('that is killed %s has its effect once', { timeout: 900_000 }, async (dies) => {
    const env = { AMQP_URL: await startRabbitmq() }

    expect(await consumeTwice('onRabbitMessage', { dies, env, consume: CONSUME })).toBe(1)
  })
})

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
