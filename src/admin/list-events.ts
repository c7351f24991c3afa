/**
 * Looks for events, page by page, and says how much was looked at.
 *
 * What an operator asks must not hold up the workers, or the event loop of a process that answers senders. So a page
 * is put together from small looks, each a statement of its own, and ends when it has enough events or has looked at
 * enough, whichever comes first. Its cursor goes on from there, also where nothing was found.
 *
 * @module
 */

import type { EventSummary } from '../model/event-summary.ts'
import type { EventSearchStore, LookedEvent, SearchedBody } from '../store/contract/event-search.ts'
import type { ResolvedEventQuery } from './event-query.ts'
import { hasPayloadValue } from './payload-value.ts'
import { listPlaces } from './search-places.ts'
import { walkPlaces } from './walk-places.ts'

/** A page of events, newest first. */
export interface EventPage {
  readonly events: readonly EventSummary[]
  /** Where the next page begins; `undefined` when there is nothing more to look at. */
  readonly cursor: string | undefined
  /** How many events were looked at: 10,000 at most, and 16 MiB of payloads where a value is looked for in them. */
  readonly lookedAt: number
}

/** How many events are looked at for one page. Measured on 1,000,000 events: see `docs/finding-events.md`. */
export const LOOKED_MAX = 10_000
/** And how much of their payloads. */
const BODY_BYTES_MAX = 16 * 1024 * 1024
/** As much of them is read at once. */
const BODY_BYTES_TOGETHER = 1024 * 1024

export async function listEvents(
  search: EventSearchStore,
  query: ResolvedEventQuery,
): Promise<EventPage> {
  const events: EventSummary[] = []
  let lookedAt = 0
  let bodyBytes = 0
  for await (const { id, summary, body } of walkCandidates(search, query)) {
    lookedAt += 1
    bodyBytes += body?.body.byteLength ?? 0
    if (summary !== undefined && hasValue(body, query)) events.push(summary)
    if (events.length === query.limit || lookedAt === LOOKED_MAX || bodyBytes >= BODY_BYTES_MAX)
      return { events, cursor: id, lookedAt }
  }
  return { events, cursor: undefined, lookedAt }
}

interface Candidate {
  readonly id: string
  /** Where it fits, as far as can be told without its payload. */
  readonly summary: EventSummary | undefined
  readonly body?: SearchedBody | undefined
}

async function* walkCandidates(
  search: EventSearchStore,
  query: ResolvedEventQuery,
): AsyncGenerator<Candidate, void> {
  const { key, limit } = query
  const where = key === undefined ? listPlaces(query) : { key }
  const walk = walkPlaces(search, where, query, limit)
  for await (const looked of walk) {
    const candidates = looked.map((event) => ({ id: event.id, summary: findFitting(event, query) }))
    if (query.where === undefined) yield* candidates
    else yield* withBodies(search, candidates)
  }
}

function findFitting(
  { summary }: LookedEvent,
  { states, attempts }: ResolvedEventQuery,
): EventSummary | undefined {
  if (summary === undefined || summary.attempts < attempts) return undefined
  return states === undefined || states.has(summary.state) ? summary : undefined
}

/** Reads the payloads of those that fit, a few at a time, and no further than they are asked for. */
async function* withBodies(
  search: EventSearchStore,
  candidates: readonly Candidate[],
): AsyncGenerator<Candidate, void> {
  const bodies = new Map<string, SearchedBody>()
  for (const [at, candidate] of candidates.entries()) {
    const { id, summary } = candidate
    if (summary !== undefined && !bodies.has(id)) {
      bodies.clear()
      const wanted = candidates.slice(at).filter((each) => each.summary !== undefined)
      const ids = wanted.map((each) => each.id)
      for (const body of await search.readBodies(ids, BODY_BYTES_TOGETHER))
        bodies.set(body.id, body)
    }
    yield { ...candidate, body: bodies.get(id) }
  }
}

function hasValue(body: SearchedBody | undefined, { where }: ResolvedEventQuery): boolean {
  if (where === undefined) return true
  return body !== undefined && hasPayloadValue(body, where)
}
