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

test('an outage is no reason to be told of the parts that hear of others', () => {
  const error = new Error('The connection was lost')

  expect(describeHappening('store.listen-lost', { error })).toBeUndefined()
})

test('what a person has to see to is told in words', () => {
  const lines = [
    describeHappening('destination.paused', { destination: 'app', reason: 'it answered 410' }),
    describeHappening('clock.skewed', { skewMs: -600_000 }),
    describeHappening('source.warning', { source: 'shop', warning: 'no timestamp is signed' }),
    describeHappening('worker.late', {
      workerId: 'w1',
      stoodStillMs: 10_100,
      deadAfterMs: 10_000,
    }),
  ]

  expect(lines).toEqual([
    'app is paused until a person resumes it: it answered 410',
    'the clocks of this machine and of the database differ by 600 s: what senders sign may look stale',
    'no timestamp is signed',
    'the worker could not say for 10 s that it lives: the machine slept, the process was busy, or the store was away',
  ])
})

test('what has no words of its own is told where it is wrong, and left out where it is not', () => {
  const unknown = { workerId: 'w1', doing: 'claiming', error: new Error('a bug') }

  expect(describeHappening('worker.error', unknown)).toBe(
    'worker.error: workerId w1, doing claiming, a bug',
  )
  expect(describeHappening('worker.stopped', { workerId: 'w1' })).toBeUndefined()
})
