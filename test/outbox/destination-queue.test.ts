import { expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { DestinationQueue } from '../../src/outbox/destination-queue.ts'
import { aClaimedMessage } from '../support/claimed-message.ts'

test('a message of a claim that is answered after the relay was stopped is given back, and holds up no end', async () => {
  const { queue, settled, endOfFirst } = aQueue()
  queue.take(aClaimedMessage({ id: 'first' }), 0, Infinity)
  const stopped = queue.stop()

  queue.take(aClaimedMessage({ id: 'late' }), 0, Infinity)
  expect(settled).toEqual([['late', 'given-back']])
  endOfFirst()
  await stopped

  expect(settled).toEqual([
    ['late', 'given-back'],
    ['first', 'sent'],
  ])
  expect(queue.isEmpty).toBe(true)
})

/** A queue whose first message is on its way until `endOfFirst` is called. */
function aQueue() {
  const settled: (readonly [string, string])[] = []
  let endOfFirst = (): void => undefined
  const first = new Promise<void>((resolve) => (endOfFirst = resolve))
  const queue = new DestinationQueue({
    destination: destination('sink', () => first),
    signal: new AbortController().signal,
    settle: ({ settlement, onWritten }) => {
      settled.push([settlement.id, settlement.state])
      onWritten()
    },
    onResend: () => undefined,
    onHeld: () => undefined,
    onGone: async () => undefined,
    onRoom: () => undefined,
  })
  return { queue, settled, endOfFirst: () => endOfFirst() }
}
