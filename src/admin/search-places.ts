/**
 * Where events of some states are found, with the least to look at.
 *
 * What is dead, skipped or parked has an index with nothing else in it: a handful of dead events among a million is a
 * handful of rows. `done` has none, since nearly every event is; it is looked for among all of them. A lane has its
 * own events, whatever their state.
 *
 * @module
 */

import { PARKED_STATES, SETTLED_STATES } from '../model/event-state.ts'
import type { EventState, ParkedState, SettledState } from '../model/event-state.ts'
import type { WalkPlace } from '../store/contract/event-search.ts'
import type { ResolvedEventQuery } from './event-query.ts'

export function listPlaces({ states, lane }: SearchedPlaces): readonly WalkPlace[] {
  if (lane !== undefined) return [{ lane }]
  if (states === undefined || states.has('done')) return ['events']
  const settled = SETTLED_STATES.filter(isNotDone)
    .filter((state) => states.has(state))
    .map((state) => ({ settled: state }))
  // The queue has those that are running, and the parked ones, beside those that are ready.
  if (states.has('ready')) return ['queue', ...settled]
  const parked = PARKED_STATES.filter((state: ParkedState) => states.has(state))
  return [
    ...(states.has('running') ? (['running'] as const) : []),
    ...parked.map((state) => ({ parked: state })),
    ...settled,
  ]
}

type SearchedPlaces = Pick<ResolvedEventQuery, 'states' | 'lane'>

/** States in which an event has not succeeded, and in which nothing happens to it by itself: not of one that waits. */
export const WITHOUT_SUCCESS: readonly EventState[] = [
  ...SETTLED_STATES.filter(isNotDone),
  ...PARKED_STATES.filter((state: string) => state !== 'waiting'),
]

function isNotDone(state: SettledState): state is Exclude<SettledState, 'done'> {
  return state !== 'done'
}
