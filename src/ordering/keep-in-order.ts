import type { LaneId } from './lane-id.ts'

/** An event that may have been claimed with others of its lane that come before it. */
export interface EventInLane {
  readonly lane?: { readonly id: LaneId; readonly isBehind: boolean } | undefined
}

/** Those that are to be kept, without what is behind one in its lane that is not. */
export function keepInOrder<Event extends EventInLane>(
  events: readonly Event[],
  isKept: (event: Event) => boolean,
): readonly Event[] {
  const ended = new Set<LaneId>()
  return events.filter((event) => {
    const { lane } = event
    if (lane?.isBehind === true && ended.has(lane.id)) return false
    if (isKept(event)) return true
    if (lane !== undefined) ended.add(lane.id)
    return false
  })
}
