/**
 * Finds due events for a slot, says that it is about to run them, and makes sure that it still may.
 *
 * What a slot is about to run must be on record before its handlers run, or a crash would leave no
 * trace. But SQLite has one writer, and once the group's transaction is open nothing else can be
 * committed beside it. So a claim is two transactions:
 *
 * 1. a short one that selects, chooses and writes the slot's list, committed without a sync of its
 *    own. From then on no other claim offers these events (`listCandidates` skips what is listed);
 * 2. the group's, which first checks that the chosen events are still as they were: an operator or a
 *    sweep may have come between the two. It is opened at once, or when a handler first needs it.
 *
 * An event that another record lists as running is being run by that slot, or its worker has crashed.
 * Both are left to `sweepWorkers`, which knows who is dead.
 *
 * @module
 */

import type { ClaimedEvent, ClaimedLane } from '../../contract/claimed-event.ts'
import type { ClaimRequest, DueKind } from '../../contract/queue.ts'
import type { DeliveryHeaders } from '../../../model/delivery.ts'
import { freshKeyHash } from '../../../model/digest.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

export const DUE: Readonly<Record<DueKind, string>> = {
  fresh:
    'q.parked is null and q.attempts = 0 and q.crashes = 0 and q.leasable = 0 and q.lane_id is null',
  head: 'q.parked is null and q.attempts = 0 and q.crashes = 0 and q.leasable = 0 and q.lane_id is not null',
  again: 'q.parked is null and q.attempts > 0 and q.crashes = 0 and q.leasable = 0',
  suspect: 'q.parked is null and q.crashes > 0 and q.leasable = 0',
  leasable: 'q.parked is null and q.leasable = 1 and q.lease_token is null',
}

// What a worker had in hand when its lane was paused comes back as it was, when the worker gives it back or dies.
const LANE_GOES = `
     and not exists
         (select 1
            from {prefix}lanes paused
           where paused.lane_id = q.lane_id
             and paused.paused_at is not null)`

/** What may be claimed or leased, of a queue row `q`. What is fresh has no lane. */
export const CLAIMABLE: Readonly<Record<DueKind, string>> = {
  fresh: DUE.fresh,
  head: `${DUE.head}${LANE_GOES}`,
  again: `${DUE.again}${LANE_GOES}`,
  suspect: `${DUE.suspect}${LANE_GOES}`,
  leasable: `${DUE.leasable}${LANE_GOES}`,
}

export const CLAIMED_COLUMNS = `q.event_id, q.topic, q.run, q.attempts, q.crashes,
         e.source, e.event_key, e.key_hash, cast(e.type as blob) as type,
         coalesce(r.body, e.body) as body, e.headers, e.received_at, e.occurred_at, e.version, e.sequence,
         e.verified_by, coalesce(r.fresh_keys, 0) as fresh_keys, r.body is not null as is_modified, q.lane_id, q.place`

/** What an operator changed about the run of a replay. Nothing is looked up for a first run. */
export const REPLAY = `
    left join {prefix}runs r on q.run > 0 and r.event_id = q.event_id and r.run = q.run`

/** One in the whole fleet, which the lock alone does not see to: a suspect may run without it. */
const NO_SUSPECT_RUNS = `
     and not exists
         (select 1
            from {prefix}workers w, json_each(w.running) r
            join {prefix}queue s on s.event_id = r.value ->> 'eventId'
           where s.crashes > 0
             and s.attempts + 1 = r.value ->> 'attempt'
             and not (w.worker_id = ?1 and w.slot = ?2))`

// 1 worker id  2 slot  3 limit  4 topic
const LIST: Readonly<Record<ClaimRequest['kind'], string>> = {
  fresh: selectDue(CLAIMABLE.fresh),
  head: selectDue(CLAIMABLE.head),
  again: selectDue(CLAIMABLE.again),
  suspect: selectDue(`${CLAIMABLE.suspect}${NO_SUSPECT_RUNS}`),
}

function selectDue(kind: string): string {
  return `
  select ${CLAIMED_COLUMNS}
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id${REPLAY}
   where ${kind}
     and q.topic = ?4
     and q.run_at <= cast(unixepoch('subsec') * 1000 as integer)
     and (q.event_id, q.attempts + 1) not in
         (select j.value ->> 'eventId', j.value ->> 'attempt'
            from {prefix}workers w, json_each(w.running) j
           where not (w.worker_id = ?1 and w.slot = ?2))
   order by q.run_at, q.event_id
   limit ?3`
}

// 1 event id  2 run  3 attempts  4 crashes  5 how it is parked
const RECHECK = `
  select 1 as found
    from {prefix}queue
   where event_id = ?
     and run = ?
     and attempts = ?
     and crashes = ?
     and parked is ?
     and leasable = 0`

/** Due events of a kind that no other slot is listed as running, topic by topic as asked, each oldest first. */
export function listCandidates(
  connection: Connection,
  { slot, kind, topics, enough }: Pick<ClaimRequest, 'slot' | 'kind' | 'topics' | 'enough'>,
): ClaimedEvent[] {
  const candidates: ClaimedEvent[] = []
  for (const { topic, limit } of topics) {
    // What failed or crashed before runs alone, so that it can take nothing else down.
    const most = isGrouped(kind) ? limit : 1
    const rows = connection.all<ClaimedRow>(LIST[kind], [slot.workerId, slot.slot, most, topic])
    candidates.push(...rows.map((row) => withLane(connection, asClaimedEvent(row), row)))
    if (candidates.length >= (isGrouped(kind) ? enough : 1)) break
  }
  return candidates
}

function isGrouped(kind: ClaimRequest['kind']): boolean {
  return kind === 'fresh' || kind === 'head'
}

// 1 lane
const FIND_LANE = `
  select mode, key, applied
    from {prefix}lanes
   where lane_id = ?`

/** With the lane that the event was sorted into, as it is now. */
export function withLane<Event extends ClaimedEvent>(
  connection: Connection,
  event: Event,
  { lane_id: id, place }: Pick<ClaimedRow, 'lane_id' | 'place'>,
): Event {
  if (id === null) return event
  type LaneRow = { mode: ClaimedLane['mode']; key: string; applied: string | null }
  const [row] = connection.all<LaneRow>(FIND_LANE, [id])
  if (row === undefined) return event
  const { mode, key } = row
  const version = mode === 'latest' ? (place ?? undefined) : undefined
  const applied = row.applied ?? undefined
  return { ...event, lane: { id, mode, key, version, applied, isBehind: false } }
}

/** Whether a claim would find anything, asked without the write lock. */
export function hasCandidates(
  connection: Connection,
  { slot, kind, topics }: Pick<ClaimRequest, 'slot' | 'kind' | 'topics'>,
): boolean {
  const each = topics.map(({ topic }) => ({ topic, limit: 1 }))
  return listCandidates(connection, { slot, kind, topics: each, enough: 1 }).length > 0
}

/** Whether the event is queued as it was when it was chosen. */
export function isStillClaimable(connection: Connection, event: ClaimedEvent): boolean {
  const { eventId, run, attempt, crashes, lane } = event
  const parked = lane?.isBehind === true ? 'waiting' : null
  return connection.all(RECHECK, [eventId, run, attempt - 1, crashes, parked]).length === 1
}

export type ClaimedRow = {
  event_id: string
  topic: number
  run: number
  attempts: number
  crashes: number
  source: string
  event_key: Uint8Array | null
  key_hash: Uint8Array
  type: Uint8Array
  body: Uint8Array
  headers: string
  received_at: number
  occurred_at: number | null
  version: string | null
  sequence: string | null
  verified_by: string
  fresh_keys: number
  is_modified: number
  lane_id: string | null
  place: string | null
}

export function asClaimedEvent(row: ClaimedRow): ClaimedEvent {
  const keyHash = Buffer.from(row.key_hash).toString('hex')
  return {
    eventId: row.event_id,
    run: row.run,
    attempt: row.attempts + 1,
    crashes: row.crashes,
    source: row.source,
    // An event without a key is parked; one that an operator released anyway runs under an empty one.
    key: row.event_key === null ? '' : decodeText(row.event_key),
    keyHash: row.fresh_keys === 1 ? freshKeyHash(keyHash, row.run) : keyHash,
    type: decodeText(row.type),
    topic: row.topic,
    body: { bytes: row.body },
    headers: readHeaders<DeliveryHeaders>(row.headers),
    receivedAt: new Date(row.received_at),
    occurredAt: row.occurred_at === null ? undefined : new Date(row.occurred_at),
    version: row.version ?? undefined,
    sequence: row.sequence ?? undefined,
    verifiedBy: row.verified_by,
    isModified: row.is_modified === 1,
  }
}
