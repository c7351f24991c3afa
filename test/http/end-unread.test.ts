import { expect, test } from 'vitest'
import { createReceiver } from '../../src/http/node.ts'
import { rawSender, statuses } from '../support/raw-exchange.ts'
import { recordingInbox } from '../support/recording-inbox.ts'
import { sendUnread } from '../support/send-unread.ts'

const UNREAD_MS = 100
const DELIVERY = 'POST /in/stripe HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n'

test('R78: a sender that reads no answer is cut off, and others are answered', async () => {
  await using receiver = createReceiver(recordingInbox({ bodyTimeoutMs: UNREAD_MS }))
  const { port } = await receiver.listen()

  await sendUnread(port)

  const sender = await rawSender(port)
  sender.write(`${DELIVERY}connection: close\r\n\r\n{}`)
  expect(statuses(await sender.closed)).toEqual([200])
})

test('a sender that expects what no receiver knows is answered all the same', async () => {
  await using receiver = createReceiver(recordingInbox())
  const { port } = await receiver.listen()
  const sender = await rawSender(port)

  sender.write(`${DELIVERY}connection: close\r\nexpect: a miracle\r\n\r\n{}`)

  expect(statuses(await sender.closed)).toEqual([417])
})

test('a receiver waits for an answer that takes longer, and keeps connections for the next request', async () => {
  const inbox = recordingInbox({ bodyTimeoutMs: UNREAD_MS })
  await using receiver = createReceiver(inbox, { keepAliveTimeoutMs: 60_000 })
  const { port } = await receiver.listen()
  const kept = await rawSender(port)
  kept.write(`${DELIVERY}\r\n{}`)
  await kept.answered('event-1')
  const held = inbox.hold()
  const waiting = await rawSender(port)
  waiting.write(`${DELIVERY}connection: close\r\n\r\n{}`)
  await inbox.arrived(2)

  // When this one is cut off, the other two have been silent for longer.
  await sendUnread(port)
  held.release()
  kept.write(`${DELIVERY}connection: close\r\n\r\n{}`)

  expect(statuses(await waiting.closed)).toEqual([200])
  expect(statuses(await kept.closed)).toEqual([200, 200])
})
