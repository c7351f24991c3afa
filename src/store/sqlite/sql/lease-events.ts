/**
 * Takes leases: of events that a group has claimed, or of due events that are known to have step handlers.
 * Everything here runs inside a write transaction, so that no other writer comes between a look and a change.
 *
 * @module
 */

import type { ClaimedEvent, TopicShare } from '../../contract/claimed-event.ts'
import type { GroupLeaseRequest, LeasedEvent, LeaseRequest } from '../../contract/steps.ts'
import type { Connection } from '../connection.ts'
import { CLAIMED_COLUMNS, CLAIMABLE, REPLAY, asClaimedEvent, withLane } from './claim-group.ts'
import type { ClaimedRow } from './claim-group.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const NEXT_TOKEN = `
  update {prefix}meta
     set value = cast(cast(value as integer) + 1 as text)
   where name = 'lease_token'
  returning cast(value as integer) as token`

// 1 token  2 worker id  3 lease in ms  4 event id  5 run  6 attempts
const LEASE = `
  update {prefix}queue
     set leasable = 1,
         attempts = attempts + 1,
         lease_token = ?,
         lease_worker = ?,
         lease_until = ${NOW} + ?
   where event_id = ?
     and run = ?
     and attempts = ?`

// 1 event id  2 run
const MAKE_LEASABLE = `
  update {prefix}queue
     set leasable = 1
   where event_id = ?
     and run = ?`

// 1 event id  2 run
const HAS_STEPS = `
  select 1 as found
    from {prefix}steps
   where event_id = ?
     and run = ?
   limit 1`

/** Inside the transaction that has claimed the events. One that has crashed before may have to run alone. */
export function leaseClaimed(
  connection: Connection,
  events: readonly ClaimedEvent[],
  { workerId, limit, leaseMs }: GroupLeaseRequest,
): LeasedEvent[] {
  return events.flatMap((event, place) => {
    if (place < limit && event.crashes === 0) return [lease(connection, event, workerId, leaseMs)]
    connection.run(MAKE_LEASABLE, [event.eventId, event.run])
    return []
  })
}

function lease(
  connection: Connection,
  event: ClaimedEvent,
  workerId: string,
  leaseMs: number,
): LeasedEvent {
  const { eventId, run } = event
  const [next] = connection.all<{ token: number }>(NEXT_TOKEN)
  const token = next?.token ?? 0
  connection.run(LEASE, [token, workerId, leaseMs, eventId, run, event.attempt - 1])
  const hasSteps = connection.all(HAS_STEPS, [eventId, run]).length > 0
  return { ...event, lease: { eventId, run, token }, hasSteps }
}

// 1 worker id  2 how long a heart may stand still
const HEART_BEATS = `
  select 1 as found
    from {prefix}workers
   where worker_id = ?
     and beat_at > ${NOW} - ?
   limit 1`

const LEASABLE = `
  select ${CLAIMED_COLUMNS}
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id${REPLAY}
   where ${CLAIMABLE.leasable}
     and q.run_at <= ${NOW}`

// 1 topic  2 crashes  3 limit
const LIST_DUE = `${LEASABLE}
     and q.topic = ?
     and q.crashes < ?
   order by q.run_at, q.event_id
   limit ?`

// 1 topics as JSON  2 crashes
const FIND_SUSPECT = `${LEASABLE}
     and q.topic in (select value from json_each(?))
     and q.crashes >= ?
   order by q.run_at, q.event_id
   limit 1`

// 1 crashes
const SUSPECT_RUNS = `
  select 1 as found
    from {prefix}queue
   where lease_token is not null
     and crashes >= ?
   limit 1`

/** Whether `leaseDue` would find anything, asked without the write lock. */
export function hasLeasable(connection: Connection): boolean {
  return connection.all(`${LEASABLE} limit 1`).length > 0
}

export function leaseDue(
  connection: Connection,
  { workerId, topics, leaseMs, aloneFrom }: LeaseRequest,
): LeasedEvent[] {
  // A worker without a record, or whose heart has stopped, would lose the lease at once.
  if (connection.all(HEART_BEATS, [workerId, leaseMs]).length === 0) return []
  return listDue(connection, topics, aloneFrom).map((row) =>
    lease(connection, withLane(connection, asClaimedEvent(row), row), workerId, leaseMs),
  )
}

function listDue(
  connection: Connection,
  topics: readonly TopicShare[],
  aloneFrom: number,
): ClaimedRow[] {
  const list = JSON.stringify(topics.map(({ topic }) => topic))
  const suspects = connection.all<ClaimedRow>(FIND_SUSPECT, [list, aloneFrom])
  if (suspects.length > 0 && connection.all(SUSPECT_RUNS, [aloneFrom]).length === 0) return suspects
  return topics.flatMap(({ topic, limit }) =>
    connection.all<ClaimedRow>(LIST_DUE, [topic, aloneFrom, limit]),
  )
}

// 1 worker id  2 known tokens as JSON
const GIVE_BACK_FORGOTTEN = `
  update {prefix}queue
     set attempts = attempts - 1,
         lease_token = null,
         lease_worker = null,
         lease_until = null,
         run_at = ${NOW}
   where lease_worker = ?
     and lease_token is not null
     and lease_until < ${NOW}
     and lease_token not in (select value from json_each(?))`

export function giveBackForgotten(
  connection: Connection,
  workerId: string,
  known: readonly number[],
): number {
  return connection.run(GIVE_BACK_FORGOTTEN, [workerId, JSON.stringify(known)])
}

// 1 worker id
const HAS_OLD = `
  select 1 as found
    from {prefix}queue
   where lease_worker = ?
     and lease_token is not null
     and lease_until < ${NOW}
   limit 1`

/** Whether the worker has leases that are not new, asked without the write lock. */
export function hasOldLeases(connection: Connection, workerId: string): boolean {
  return connection.all(HAS_OLD, [workerId]).length > 0
}
