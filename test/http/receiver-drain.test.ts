import { describe, expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import type { RawSender } from '../support/raw-exchange.ts'
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
    const idle = await openIdle(port)
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

  test('takes what comes on a connection that was idle, and closes it with the answer', async () => {
    const inbox = recordingInbox()
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const [sender, probe] = await Promise.all([openIdle(port), openIdle(port)])

    const drained = receiver.drain({ graceMs: LONG_MS, idleMs: LONG_MS })
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
    probe.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n')
    sender.write(POST)
    const [delivered, asked] = await Promise.all([sender.closed, probe.closed])
    // Over when the last connection is gone, and not when the time is.
    await drained

    expect(statuses(delivered)).toEqual([200, 200])
    expect(delivered.toLowerCase().match(/connection: close/g)).toHaveLength(1)
    expect(statuses(asked)).toEqual([200, 503])
    expect(inbox.received).toHaveLength(1)
  })

  test('closes a connection on which nothing comes, and one that never had a request', async () => {
    await using receiver = createReceiver(recordingInbox())
    const { port } = await receiver.listen()
    const [idle, silent] = await Promise.all([openIdle(port), rawSender(port)])

    await receiver.drain({ graceMs: LONG_MS, idleMs: 1 })

    expect(statuses(await idle.closed)).toEqual([200])
    expect(await silent.closed).toBe('')
  })

  test('can be told twice, and before it listens', async () => {
    const receiver = createReceiver(recordingInbox())

    await Promise.all([receiver.drain(), receiver.drain()])

    expect(receiver.server.listening).toBe(false)
  })
})

/** Longer than any test. */
const LONG_MS = 3_600_000

/** A connection that waits for its next request. */
async function openIdle(port: number): Promise<RawSender> {
  const sender = await rawSender(port)
  sender.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  await sender.answered('"ok"')
  return sender
}
