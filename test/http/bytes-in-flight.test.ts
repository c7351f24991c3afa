import { describe, expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import type { RawSender } from '../support/raw-exchange.ts'
import { recordingInbox } from '../support/recording-inbox.ts'

const MEBIBYTE = 1_048_576
const HEAD = 'POST /in/stripe HTTP/1.1\r\nhost: x\r\n'

describe('R62: bodies on their way', () => {
  test('250 that stop one byte short take no more than their budget, and the others are told 503', async () => {
    const inFlightBytesMax = 8 * MEBIBYTE
    const inbox = recordingInbox({ inFlightBytesMax })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const half = Buffer.alloc(MEBIBYTE - 1, 'x')
    const before = process.memoryUsage().arrayBuffers

    const senders = await Promise.all(Array.from({ length: 250 }, () => rawSender(port)))
    for (const sender of senders) {
      sender.write(`${HEAD}content-length: ${MEBIBYTE}\r\n\r\n`)
      sender.write(half)
    }
    const refused = await untilAnswered(senders, 242)

    expect(refused.map(statuses)).toEqual(refused.map(() => [503]))
    for (const answer of refused) {
      expect(answer.toLowerCase()).toContain('retry-after: 5')
      expect(answer.toLowerCase()).toContain('connection: close')
    }
    expect(inbox.inFlight.taken).toBeLessThanOrEqual(inFlightBytesMax)
    // 250 MiB were sent. Beside the budget there is what sockets have read and the receiver has not taken yet.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MEBIBYTE)
    expect(inbox.received).toEqual([])

    for (const { socket } of senders) socket.destroy()
    await expect.poll(() => inbox.inFlight.taken).toBe(0)
    const next = await rawSender(port)
    next.write(`${HEAD}connection: close\r\ncontent-length: 2\r\n\r\n{}`)
    expect(statuses(await next.closed)).toEqual([200])
  })

  test('count until their sender is answered, since they may wait for the database', async () => {
    const inbox = recordingInbox({ inFlightBytesMax: 2 * MEBIBYTE })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    const { release } = inbox.hold()
    const request = `${HEAD}connection: close\r\ncontent-length: ${MEBIBYTE}\r\n\r\n${'x'.repeat(MEBIBYTE)}`

    const waiting = await Promise.all([rawSender(port), rawSender(port)])
    for (const sender of waiting) sender.write(request)
    await inbox.arrived(2)
    const third = await rawSender(port)
    third.write(request)

    expect(statuses(await third.closed)).toEqual([503])
    release()
    for (const { closed } of waiting) expect(statuses(await closed)).toEqual([200])
    await expect.poll(() => inbox.inFlight.taken).toBe(0)
  })

  test('are not asked to come while there is no room for them', async () => {
    const inbox = recordingInbox({ inFlightBytesMax: MEBIBYTE })
    await using receiver = createReceiver(inbox)
    const { port } = await receiver.listen()
    inbox.inFlight.take(MEBIBYTE - 10)

    const sender = await rawSender(port)
    sender.write(`${HEAD}content-length: 11\r\nexpect: 100-continue\r\n\r\n`)

    expect(statuses(await sender.closed)).toEqual([503])
  })
})

/** The answers of that many senders, whichever are answered first. */
async function untilAnswered(senders: readonly RawSender[], count: number): Promise<string[]> {
  const answers: string[] = []
  await new Promise<void>((resolve) => {
    for (const { closed } of senders) {
      void closed.then((answer) => {
        answers.push(answer)
        if (answers.length === count) resolve()
      })
    }
  })
  return answers
}
