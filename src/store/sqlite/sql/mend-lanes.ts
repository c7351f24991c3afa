/**
 * Makes the next event of a lane ready, where none is. As on PostgreSQL it may be called once too often, and whatever
 * changes a lane calls it in its own transaction. The lane needs no lock: there is one writer.
 *
 * @module
 */

import type { FreedLane } from '../../../model/outcome.ts'
import type { Connection } from '../connection.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

/** How often it is written down that a lane is in use: each time would be one more write for each event. */
export const USED_GRAIN_MS = 3_600_000

// 1 how long ago  2 lane
const FIND_LANE = `
  select mode, next, applied, paused_at, used_at < ${NOW} - ? as is_long_ago
    from {prefix}lanes
   where lane_id = ?`

// 1 lane
const NOTE_USE = `
  update {prefix}lanes
     set used_at = ${NOW}
   where lane_id = ?`

// Counts as long as the event is dead, or is queued again and not sorted yet: it comes before those behind it.
//
// 1 lane
const DROP_BLOCKS = `
  delete from {prefix}lane_blocks
   where lane_id = ?
     and not exists (select 1 from {prefix}outcomes o
                      where o.event_id = {prefix}lane_blocks.event_id and o.run = {prefix}lane_blocks.run and o.state = 'dead')
     and not exists (select 1 from {prefix}queue u
                      where u.event_id = {prefix}lane_blocks.event_id and u.run = {prefix}lane_blocks.run and u.lane_id is null)
  returning event_id`

// 1 lane  2 event id  3 whether the event blocks the lane from now on
const TELL = `
  insert into {prefix}lane_news (lane_id, event_id, is_blocked)
  values (?, ?, ?)`

// 1 lane
const FIND_ACTIVE = `
  select event_id, lease_token, run_at, run_at > ${NOW} as is_late
    from {prefix}queue
   where lane_id = ?
     and lane_id is not null
     and parked is not 'waiting'
   limit 1`

// 1 lane  2 when the active one is due
const HAS_SOONER = `
  select 1 as found
    from {prefix}queue
   where lane_id = ?
     and parked = 'waiting'
     and run_at < ?
   limit 1`

// 1 event id
const LET_OTHERS_GO = `
  update {prefix}queue
     set parked = 'waiting'
   where event_id = ?
     and parked is null`

// One that a worker has in hand is leased, or is among what the worker says it runs.
//
// 1 lane
const HOLD = `
  update {prefix}queue
     set parked = 'waiting'
   where lane_id = ?
     and lane_id is not null
     and parked is not 'waiting'
     and parked is null
     and lease_token is null
     and not exists (select 1
                       from {prefix}workers w, json_each(w.running) r
                      where r.value ->> 'eventId' = {prefix}queue.event_id
                        and r.value ->> 'attempt' = {prefix}queue.attempts + 1)`

// 1 lane
const NEXT_STORED = `
  select event_id, run
    from {prefix}queue
   where lane_id = ?
     and parked = 'waiting'
   order by event_id
   limit 1`

// 1 lane  2 event id  3 run
const IS_BLOCKED = `
  select 1 as found
    from {prefix}lane_blocks
   where lane_id = ?
     and (event_id, run) < (?, ?)
   limit 1`

// 1 lane  2 the number that comes next
const NEXT_NUMBER = `
  select event_id
    from {prefix}queue
   where lane_id = ?
     and parked = 'waiting'
     and number is not null
     and number <= ?
   order by number, event_id
   limit 1`

// 1 lane
const NEWEST = `
  select event_id
    from {prefix}queue
   where lane_id = ?
     and parked = 'waiting'
     and place is not null
     and run_at <= ${NOW}
   order by place desc, event_id desc
   limit 1`

// 1 lane
const SOONEST = `
  select event_id
    from {prefix}queue
   where lane_id = ?
     and parked = 'waiting'
   order by run_at, event_id
   limit 1`

// 1 lane
const WITH_FACTS = `
  select q.event_id
    from {prefix}queue q
    join {prefix}lane_facts f on f.lane_id = q.lane_id and f.type = q.place
   where q.lane_id = ?
     and q.parked = 'waiting'`

// What was never tried is due at once; a retry keeps its time.
//
// 1 event id
const MAKE_READY = `
  update {prefix}queue
     set parked = null,
         parked_reason = null,
         wait_until = null,
         run_at = case when attempts = 0 then ${NOW} else max(run_at, ${NOW}) end
   where event_id = ?`

// 1 lane
const WAIT_FOR_NUMBER = `
  update {prefix}queue
     set wait_until = ${NOW} + wait_ms
   where wait_until is null
     and event_id = (select event_id
                       from {prefix}queue
                      where lane_id = ?
                        and parked = 'waiting'
                        and number is not null
                      order by number, event_id
                      limit 1)`

// 1 lane
const WAIT_FOR_FACT = `
  update {prefix}queue
     set wait_until = ${NOW} + wait_ms
   where lane_id = ?
     and parked = 'waiting'
     and wait_until is null`

export function mendLanes(connection: Connection, lanes: readonly string[]): void {
  for (const lane of new Set(lanes)) mendLane(connection, lane)
}

function mendLane(connection: Connection, lane: string): void {
  const [row] = connection.all<LaneRow>(FIND_LANE, [USED_GRAIN_MS, lane])
  if (row === undefined) return
  if (row.is_long_ago === 1) connection.run(NOTE_USE, [lane])
  for (const { event_id } of connection.all<IdRow>(DROP_BLOCKS, [lane]))
    connection.run(TELL, [lane, event_id, 0])
  if (row.paused_at !== null) {
    connection.run(HOLD, [lane])
    return
  }
  if (row.mode === 'after') {
    for (const { event_id } of connection.all<IdRow>(WITH_FACTS, [lane]))
      connection.run(MAKE_READY, [event_id])
    connection.run(WAIT_FOR_FACT, [lane])
    return
  }
  if (row.mode === 'latest') letSoonerGoFirst(connection, lane)
  if (connection.all(FIND_ACTIVE, [lane]).length > 0) return
  const next = findNext(connection, lane, row)
  if (next !== undefined) connection.run(MAKE_READY, [next.event_id])
  else if (row.mode === 'sequence') connection.run(WAIT_FOR_NUMBER, [lane])
}

/** One that failed, and is not due yet, lets those go first that are due before it. */
function letSoonerGoFirst(connection: Connection, lane: string): void {
  const [active] = connection.all<ActiveRow>(FIND_ACTIVE, [lane])
  if (active === undefined || active.is_late === 0 || active.lease_token !== null) return
  const isNotNext = connection.all(HAS_SOONER, [lane, active.run_at]).length > 0
  if (isNotNext) connection.run(LET_OTHERS_GO, [active.event_id])
}

function findNext(
  connection: Connection,
  lane: string,
  { mode, next }: LaneRow,
): IdRow | undefined {
  switch (mode) {
    case 'fifo': {
      const [first] = connection.all<IdRow & { run: number }>(NEXT_STORED, [lane])
      if (first === undefined) return undefined
      const isBlocked = connection.all(IS_BLOCKED, [lane, first.event_id, first.run]).length > 0
      return isBlocked ? undefined : first
    }
    case 'sequence':
      return connection.all<IdRow>(NEXT_NUMBER, [lane, next])[0]
    default:
      return connection.all<IdRow>(NEWEST, [lane])[0] ?? connection.all<IdRow>(SOONEST, [lane])[0]
  }
}

type LaneRow = {
  mode: string
  next: number | null
  applied: string | null
  paused_at: number | null
  is_long_ago: number
}
type IdRow = { event_id: string }
type ActiveRow = {
  event_id: string
  lease_token: number | null
  run_at: number
  is_late: number
}

/** The columns of a queue row that say where it stood. */
export const PLACE_COLUMNS = 'lane_id, number, place, policy'

/** What is known of an event that has left its lane. */
export type LeftLane = {
  lane_id: string | null
  number: number | null
  place: string | null
  policy: string | null
}

// 1 number that comes next  2 lane
const TAKE_NUMBER = `
  update {prefix}lanes
     set next = max(next, ?)
   where lane_id = ?
     and mode = 'sequence'`

// 1 version  2 event id  3 lane  4 version  5 version
const APPLY_VERSION = `
  update {prefix}lanes
     set applied = ?,
         applied_by = ?
   where lane_id = ?
     and mode = 'latest'
     and (applied is null or substr(applied, 1, 1) <> substr(?, 1, 1) or applied <= ?)`

// 1 lane  2 event id  3 run
const BLOCK = `
  insert into {prefix}lane_blocks (lane_id, event_id, run)
  values (?, ?, ?)
      on conflict do nothing`

/** A dead event holds up its lane. */
export function blockLane(
  connection: Connection,
  lane: string,
  { eventId, run }: { readonly eventId: string; readonly run: number },
): void {
  if (connection.run(BLOCK, [lane, eventId, run]) > 0) connection.run(TELL, [lane, eventId, 1])
}

/** An event has come to rest: what that means for its lane. */
export function leaveLane(
  connection: Connection,
  { eventId, run, state }: { eventId: string; run: number; state: string },
  { lane_id: lane, number, place, policy }: LeftLane,
): void {
  if (lane === null) return
  // A number is taken when it was applied, or needed nothing. A dead one is missing.
  if (number !== null && (state === 'done' || state === 'skipped'))
    connection.run(TAKE_NUMBER, [number + 1, lane])
  if (place !== null && state === 'done')
    connection.run(APPLY_VERSION, [place, eventId, lane, place, place])
  if (state === 'dead' && policy === 'block') blockLane(connection, lane, { eventId, run })
  mendLane(connection, lane)
}

// 1 lane  2 source  3 key
const INSERT_LANE = `
  insert into {prefix}lanes (lane_id, source, key, mode, paused_at, paused_reason, paused_actor, used_at)
  select ?1, ?2, ?3, 'after', p.paused_at, p.paused_reason, p.paused_actor, ${NOW}
    from (select 1)
    left join {prefix}lanes p on p.paused_at is not null and p.source = ?2 and p.key = ?3
   where true
   limit 1
      on conflict do nothing`

// 1 lane  2 type  3 event id
const INSERT_FACT = `
  insert into {prefix}lane_facts (lane_id, type, event_id, done_at)
  values (?, ?, ?, ${NOW})
      on conflict do nothing`

/** An event of a type was done that others may wait for. */
export function freeLanes(
  connection: Connection,
  eventId: string,
  freed: readonly FreedLane[] = [],
): void {
  for (const { id, source, key, type } of freed) {
    connection.run(INSERT_LANE, [id, source, key.replaceAll('\0', '\ufffd')])
    connection.run(INSERT_FACT, [id, type, eventId])
    mendLane(connection, id)
  }
}
