/**
 * Locks an event for an operator, and reads where it stands.
 *
 * - The event's own row is locked first, by operators and by a redelivery that revives a dead event: all that puts an
 *   event back into the queue. So these come one after the other, and what is not queued when it is looked at stays
 *   so. Workers never lock it, and never wait for an operator. A pruner of payloads leaves it alone.
 * - How its runs ended is locked next: a pruner of keys leaves these alone, and the event keeps its key.
 * - The queue row is what a claim holds for as long as its handler runs. Waiting for that would be waiting for the
 *   handler: after a second the event is running. Less would take a row for running that is only being nudged.
 * - The outcomes are read last: a queue row that was waited for and is gone has become one.
 *
 * @module
 */

import type { EventState } from '../../../model/event-state.ts'
import type { EventId } from '../../../model/event.ts'
import { findVersions } from '../../shared/decide-action.ts'
import type { Standing } from '../../shared/decide-action.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 event
const LOCK_EVENT = `
  select (extract(epoch from erased_at) * 1000)::bigint as erased_at, topic < 0 as is_own
    from {schema}.events
   where id = $1
     for no key update`

// $1 event
const LOCK_OUTCOMES = `
  select run
    from {schema}.outcomes
   where event_id = $1
   order by run
     for update`

// $1 events
const LOCK_EVENTS = `
  select 1
    from {schema}.events
   where id = any($1::uuid[])
   order by id
     for no key update`

const LIMIT_LOCKS = `
  select set_config('lock_timeout', '1000', true)`

// $1 event
const LOCK_QUEUED = `
  select q.run, q.parked, q.parked_reason, q.run_at <= clock_timestamp() as is_due,
         q.lease_token is not null or exists (
           select
             from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
            where r.event_id = q.event_id and r.attempt = q.attempts + 1) as is_running
    from {schema}.queue q
   where q.event_id = $1
   order by q.run desc
   limit 1
     for update of q`

// $1 event
const LIST_OUTCOMES = `
  select o.run, o.state, o.place, l.applied, l.applied_by
    from {schema}.outcomes o
    left join {schema}.lanes l on l.lane_id = o.lane_id and l.mode = 'latest'
   where o.event_id = $1
   order by o.run desc`

/** For a caller that puts several back into the queue. Held until the transaction ends. */
export async function lockEvents(
  connection: Connection,
  eventIds: readonly EventId[],
): Promise<void> {
  await connection.query(LOCK_EVENTS, [plainArray(eventIds)])
}

/** What the row of an event says of it. */
type LockedEvent = Pick<Standing, 'erasedAt' | 'isOwn'>

/** `undefined` when there is no such event. Held until the transaction ends. */
export async function lockEvent(
  connection: Connection,
  eventId: EventId,
): Promise<LockedEvent | undefined> {
  const { rows } = await connection.query<'erased_at' | 'is_own'>(LOCK_EVENT, [eventId])
  await connection.query(LOCK_OUTCOMES, [eventId])
  const [row] = rows
  if (row === undefined) return undefined
  const erasedAt = row.erased_at === null ? undefined : new Date(Number(row.erased_at))
  return { erasedAt, isOwn: row.is_own === 't' }
}

/**
 * After `lockEvent`, whose answer is `event`: what is not there but has ended was pruned. Fails with a lock timeout
 * while a worker holds the event.
 */
export async function readStanding(
  connection: Connection,
  eventId: EventId,
  event: LockedEvent | undefined,
): Promise<Standing | undefined> {
  const { erasedAt, isOwn } = event ?? { erasedAt: undefined, isOwn: false }
  const isPruned = event === undefined
  await connection.query(LIMIT_LOCKS)
  const queued = (await connection.query(LOCK_QUEUED, [eventId])).rows[0]
  const outcomes = (
    await connection.query<'run' | 'state' | 'place' | 'applied' | 'applied_by'>(LIST_OUTCOMES, [
      eventId,
    ])
  ).rows
  const isApplied = outcomes.some(({ state }) => state === 'done')
  if (queued !== undefined) {
    const waiting: EventState = queued['is_running'] === 't' ? 'running' : 'ready'
    return {
      state: (queued['parked'] as EventState | null) ?? waiting,
      run: Number(queued['run']),
      parkedReason: queued['parked_reason'] ?? undefined,
      isDue: queued['is_due'] === 't',
      isApplied,
      erasedAt,
      isPruned,
      versions: undefined,
      isOwn,
    }
  }
  const [latest] = outcomes
  if (latest === undefined) return undefined
  return {
    state: latest.state as EventState,
    run: Number(latest.run),
    parkedReason: undefined,
    isDue: false,
    isApplied,
    erasedAt,
    isPruned,
    versions: findVersions(outcomes),
    isOwn,
  }
}
