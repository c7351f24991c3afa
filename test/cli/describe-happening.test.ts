import { expect, test } from 'vitest'
import { describeHappening } from '../../src/cli/dev/describe-happening.ts'
import { HookonceError } from '../../src/errors.ts'

const EVENT = { source: 'shop', eventId: 'e1', key: 'k1', type: 'order.paid', attempt: 1 }
const MESSAGE = { messageId: 'm1', destination: 'app', key: 'k1', attempt: 3, eventId: 'e1' }
const AWAY = new HookonceError('STORE_UNAVAILABLE', 'refused', { retryable: true })

test('what becomes of an event and of its messages is told in a line', () => {
  const failed = { ...EVENT, reason: 'handler' as const, handler: undefined, retryInMs: 10_000 }
  const lines = [
    describeHappening('event.done', { ...EVENT, durationMs: 12.3, result: undefined }),
    describeHappening('event.failed', { ...failed, error: new Error('no such order') } as never),
    describeHappening('event.dead', {
      ...EVENT,
      reason: 'x',
      handler: undefined,
      error: undefined,
    }),
    describeHappening('message.sent', { ...MESSAGE, durationMs: 30 }),
    describeHappening('destination.held', { destination: 'app', forMs: 2_000, cause: 'no answer' }),
    describeHappening('store.available', { downMs: 61_000 }),
  ]

  expect(lines).toEqual([
    'done in 12 ms',
    'failed: no such order; again in 10 s',
    'dead: x',
    'delivered to app in 30 ms, attempt 3',
    'app is left alone for 2 s: no answer',
    'the store is back after 61 s',
  ])
})

test('an outage is told once, and not by each part that notices', () => {
  const about = { workerId: 'w1', doing: 'claiming' }

  expect(describeHappening('store.unavailable', { error: AWAY })).toContain('refused')
  expect(describeHappening('worker.error', { ...about, error: AWAY })).toBeUndefined()
  expect(describeHappening('worker.error', { ...about, error: new Error('a bug') })).toBe(
    'worker.error: workerId w1, doing claiming, a bug',
  )
})

test('what has no words of its own is told where it is wrong, and left out where it is not', () => {
  const warning = { source: 'shop', warning: 'no timestamp is signed' }

  expect(describeHappening('source.warning', warning)).toBe(
    'source.warning: source shop, no timestamp is signed',
  )
  expect(describeHappening('worker.stopped', { workerId: 'w1' })).toBeUndefined()
})
