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
import type { Standing } from '../../shared/decide-action.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'

// $1 event
const LOCK_EVENT = `
  select erased_at is not null as is_erased, topic < 0 as is_own
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
  select run, state
    from {schema}.outcomes
   where event_id = $1
   order by run desc`

/** For those who put several back into the queue. Held until the transaction ends. */
export async function lockEvents(
  connection: Connection,
  eventIds: readonly EventId[],
): Promise<void> {
  await connection.query(LOCK_EVENTS, [plainArray(eventIds)])
}

/** What the row of an event says of it. */
type LockedEvent = Pick<Standing, 'isErased' | 'isOwn'>

/** `undefined` when there is no such event. Held until the transaction ends. */
export async function lockEvent(
  connection: Connection,
  eventId: EventId,
): Promise<LockedEvent | undefined> {
  const { rows } = await connection.query<'is_erased' | 'is_own'>(LOCK_EVENT, [eventId])
  await connection.query(LOCK_OUTCOMES, [eventId])
  return rows[0] && { isErased: rows[0].is_erased === 't', isOwn: rows[0].is_own === 't' }
}

/** Whether an event that is not here came to rest before its payload was pruned. */
export async function wasPruned(connection: Connection, eventId: EventId): Promise<boolean> {
  return (await connection.query(LIST_OUTCOMES, [eventId])).rows.length > 0
}

/** After `lockEvent`. Fails with a lock timeout while a worker holds the event. */
export async function readStanding(
  connection: Connection,
  eventId: EventId,
  { isErased, isOwn }: LockedEvent,
): Promise<Standing | undefined> {
  await connection.query(LIMIT_LOCKS)
  const queued = (await connection.query(LOCK_QUEUED, [eventId])).rows[0]
  const outcomes = (await connection.query<'run' | 'state'>(LIST_OUTCOMES, [eventId])).rows
  const isApplied = outcomes.some(({ state }) => state === 'done')
  if (queued !== undefined) {
    const waiting: EventState = queued['is_running'] === 't' ? 'running' : 'ready'
    return {
      state: (queued['parked'] as EventState | null) ?? waiting,
      run: Number(queued['run']),
      parkedReason: queued['parked_reason'] ?? undefined,
      isDue: queued['is_due'] === 't',
      isApplied,
      isErased,
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
    isErased,
    isOwn,
  }
}
