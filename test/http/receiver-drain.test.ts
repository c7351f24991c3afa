import { describe, expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

const POST = 'POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'

describe('R45: a receiver that is stopped with 50 requests in flight', () => {
  test('says 503 on /readyz first, while deliveries are still taken', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()

    receiver.withdraw()

    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503)
    expect(
      (await fetch(`http://127.0.0.1:${port}/in/stripe`, { method: 'POST', body: '{}' })).status,
    ).toBe(200)
  })

  test('lets them finish, takes no new ones, and closes every connection', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const held = inbox.hold()
    const idle = await rawSender(port)
    idle.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    await idle.answered('"ok"')
    const senders = await Promise.all(Array.from({ length: 50 }, () => rawSender(port)))
    for (const sender of senders) sender.write(POST)
    await inbox.arrived(50)

    const drained = receiver.drain()
    await idle.closed
    // A request that comes after the drain on a connection that is still busy.
    senders[0]?.write(POST)
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
    held.release()
    const answers = await Promise.all(senders.map(({ closed }) => closed))
    await drained

    expect(answers.map((answer) => statuses(answer)[0])).toEqual(answers.map(() => 200))
    expect(answers.every((answer) => answer.toLowerCase().includes('connection: close'))).toBe(true)
    expect(inbox.received).toHaveLength(50)
  })

  test('answers 503 to those that do not finish in the grace time', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const held = inbox.hold()
    const senders = await Promise.all(Array.from({ length: 50 }, () => rawSender(port)))
    for (const sender of senders) sender.write(POST)
    await inbox.arrived(50)

    await receiver.drain({ graceMs: 1 })
    const answers = await Promise.all(senders.map(({ closed }) => closed))
    held.release()

    expect(answers.map(statuses)).toEqual(answers.map(() => [503]))
    expect(answers.every((answer) => /retry-after: \d/i.test(answer))).toBe(true)
  })

  test('can be told twice, and before it listens', async () => {
    const receiver = createReceiver(recordingInbox())

    await Promise.all([receiver.drain(), receiver.drain()])

    expect(receiver.server.listening).toBe(false)
  })
})
