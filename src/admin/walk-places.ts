/**
 * Walks over the events of several places as if they were one list, newest first.
 *
 * Each place is asked for its next few events below the same id. A place that gave all it was asked for may have more
 * just below, so the walk goes no lower than where such a place ended: below that an event of it could be missing.
 *
 * @module
 */

import type {
  EventSearchStore,
  LookedEvent,
  WalkPlace,
  WalkRequest,
} from '../store/contract/event-search.ts'

/** In one statement. On SQLite a look blocks the event loop for as long as it takes: a few milliseconds. */
const LOOK_MAX = 500
const LOOK_MIN = 50

/** What is the same for every place. */
export type WalkFilter = Pick<WalkRequest, 'below' | 'from' | 'source' | 'type' | 'text'>

/** Each look, in the order of the ids. `expected` is how many events may be enough. */
export async function* walkPlaces(
  search: EventSearchStore,
  where: readonly WalkPlace[] | { readonly key: string },
  { below: start, from, source, type, text }: WalkFilter,
  expected: number,
): AsyncGenerator<readonly LookedEvent[], void> {
  let below = start
  let limit = Math.max(LOOK_MIN, Math.min(expected, LOOK_MAX))
  for (;;) {
    const looks = await lookEverywhere(search, where, { below, from, limit, source, type, text })
    const ends = looks.filter((look) => look.length === limit).map((look) => look.at(-1)?.id ?? '')
    const downTo = ends.sort().at(-1)
    yield merge(looks, downTo)
    if (downTo === undefined) return
    below = downTo
    limit = LOOK_MAX
  }
}

async function lookEverywhere(
  search: EventSearchStore,
  where: readonly WalkPlace[] | { readonly key: string },
  request: Omit<WalkRequest, 'place'>,
): Promise<readonly (readonly LookedEvent[])[]> {
  if ('key' in where) return [await search.walkKey(where.key, request)]
  const looks: (readonly LookedEvent[])[] = []
  // One after the other: an operator's question takes one connection of the pool.
  for (const place of where) looks.push(await search.walk({ ...request, place }))
  return looks
}

/** An event that went from one place to another between two looks is in both. */
function merge(
  looks: readonly (readonly LookedEvent[])[],
  downTo: string | undefined,
): readonly LookedEvent[] {
  const found = new Map<string, LookedEvent>()
  for (const event of looks.flat()) {
    if (downTo !== undefined && event.id < downTo) continue
    if (found.get(event.id)?.summary === undefined) found.set(event.id, event)
  }
  return [...found.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
}
