import type { Random } from '../../test/support/faults/random.ts'
import type { SentEvent } from './crash-run.ts'

/** What is sent all the time: mostly well-behaved, some that fail or hang at first, some in steps. */
export function createEvent(random: Random, key: string): SentEvent {
  const chance = random.next()
  if (chance < 0.35) return event(key)
  if (chance < 0.65) return event(key, { steps: [['note', 'done']] })
  if (chance < 0.75) return event(key, { steps: [DONE, ['sleep', random.between(1, 60)]] })
  if (chance < 0.88) return event(key, { first: [NOT_KEPT, ['throw', 'the first time']] })
  if (chance < 0.98) return createStepEvent(key, random.between(0, 300))
  return event(key, {
    steps: [['sleep', random.between(1, 30)], DONE],
    first: [NOT_KEPT, ['sleep', 2_000]],
  })
}

/** One whose handler goes step by step, outside any transaction. */
export function createStepEvent(key: string, pauseMs: number): SentEvent {
  const steps = [
    ['tx', 'a'],
    ['sleep', pauseMs],
    ['tx', 'b'],
  ] as const
  const sent = { key, type: 'step.taken', source: 'partner', effects: [`${key}:a`, `${key}:b`] }
  // A step handler reads the same field of the payload, with steps of its own.
  return { ...sent, steps } as unknown as SentEvent
}

/** One of a flood: light, and many. */
export function createFloodEvent(key: string): SentEvent {
  return event(key, { type: 'flood.rose', steps: [DONE, ['sleep', 20]] })
}

/** One whose handler takes its time, and is allowed to. */
export function createSlowEvent(key: string, ms: number): SentEvent {
  return event(key, { type: 'slow.ran', steps: [DONE, ['sleep', ms]] })
}

/** One whose handler does not end at its first attempt, until it is given up. */
export function createHangingEvent(key: string): SentEvent {
  return event(key, { type: 'hang.began', first: [NOT_KEPT, ['sleep', 60_000]] })
}

/** One whose handler blocks the event loop. */
export function createBlockingEvent(key: string, ms: number): SentEvent {
  return event(key, { type: 'block.held', steps: [DONE, ['block', ms]] })
}

/** One of a quiet sender, who must not wait for the others. */
export function createQuietEvent(key: string): SentEvent {
  return event(key, { source: 'rival' })
}

const DONE = ['write', 'done'] as const
const NOT_KEPT = ['write', 'not kept'] as const

function event(key: string, more: Partial<SentEvent> = {}): SentEvent {
  return { key, source: 'partner', effects: [key], steps: [DONE], ...more }
}
