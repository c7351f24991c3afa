import type { DecidedEvent } from '../contract/lanes.ts'

/** An event without a lane, as it is when places are written. */
export interface UnsortedEvent {
  readonly eventId: string
  readonly run: number
  readonly attempts: number
  /** Whether it has been tried: then it was asked for, and comes before no other. */
  readonly isTried: boolean
}

/**
 * Of what was decided, what may be written: up to the first event that is not decided, in the order in which they are
 * to be sorted. It was stored while the caller decided, or is not as the caller has read it. Sorted after others of its
 * lane, it would run after them.
 */
export function takeDecided(
  unsorted: readonly UnsortedEvent[],
  decided: readonly DecidedEvent[],
): readonly DecidedEvent[] {
  const byId = new Map(decided.map((each) => [each.event.eventId, each]))
  const taken: DecidedEvent[] = []
  let isOver = false
  for (const { eventId, run, attempts, isTried } of unsorted) {
    const found = byId.get(eventId)
    const isSame = found?.event.run === run && found.event.attempt === attempts + 1
    if (isSame && (isTried || !isOver)) taken.push(found)
    else if (!isTried) isOver = true
  }
  return taken
}
