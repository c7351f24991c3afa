import type { EventState } from '../../model/event-state.ts'
import type { Blocker } from '../../model/outcome.ts'
import type { OrderMode } from '../../ordering/order.ts'

/** What a store finds around a waiting event. */
export interface BlockerFacts {
  readonly mode: OrderMode
  readonly isPaused: boolean
  /** The type that it waits for, in `after`. */
  readonly requires: string | undefined
  /** The number that its lane waits for. */
  readonly next: number | undefined
  readonly waitUntil: Date | undefined
  /** The event that holds its lane, and when it is due, where that is not yet. */
  readonly holder:
    | { readonly eventId: string; readonly state: EventState; readonly runAt: Date | undefined }
    | undefined
}

/** What an event waits for, in words and as values: the same for every engine. */
export function describeBlocker(facts: BlockerFacts): Blocker {
  const { mode, isPaused, requires, next, waitUntil, holder } = facts
  const nothing = { eventId: undefined, state: undefined }
  if (isPaused) return { ...nothing, until: undefined, reason: 'its lane is paused' }
  if (mode === 'after')
    return { ...nothing, until: waitUntil, reason: `waiting for ${requires}${until(waitUntil)}` }
  if (holder !== undefined) {
    const { eventId, state, runAt } = holder
    const tried = state === 'ready' ? runAt : undefined
    const when = tried === undefined ? `, which is ${state}` : `${until(tried)}, when it is due`
    return { eventId, state, until: tried, reason: `waiting for ${eventId}${when}` }
  }
  const reason =
    mode === 'sequence' ? `waiting for number ${next}${until(waitUntil)}` : 'about to be next'
  return { ...nothing, until: waitUntil, reason }
}

function until(date: Date | undefined): string {
  return date === undefined ? '' : ` until ${date.toISOString()}`
}
