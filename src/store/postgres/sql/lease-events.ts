/**
 * Takes leases: of events that a group has claimed, or of due events that are known to have step handlers.
 *
 * @module
 */

import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { GroupLeaseRequest, LeasedEvent, LeaseRequest } from '../../contract/steps.ts'
import type { Connection } from '../connection.ts'
import type { Connections } from '../connections.ts'
import { plainArray } from '../binary-array.ts'
import {
  asClaimedEvent,
  CLAIM_BYTES_MAX,
  CLAIMED_COLUMNS,
  CLAIMABLE,
  joinReplay,
  LANE_COLUMNS,
} from './claim-group.ts'

// $1 events  $2 runs  $3 attempts  $4 worker  $5 limit  $6 lease in ms
//
// One that has crashed before is not leased here, since it may have to run alone.
const LEASE_CLAIMED = `
  with s as materialized (
         select *, row_number() over (order by ord) as ordinal
           from unnest($1::uuid[], $2::integer[], $3::integer[])
             with ordinality as s (event_id, run, attempts, ord)),
       changed as (
         update {schema}.queue q
            set leasable = true,
                attempts = q.attempts + (ordinal <= $5::integer and q.crashes = 0)::integer,
                lease_token = case when ordinal <= $5::integer and q.crashes = 0
                                   then nextval('{schema}.lease_tokens') end,
                lease_worker = case when ordinal <= $5::integer and q.crashes = 0 then $4 end,
                lease_until = case when ordinal <= $5::integer and q.crashes = 0
                                   then clock_timestamp() + $6::float8 * interval '1 millisecond' end
           from s
          where q.event_id = any($1::uuid[])
            and q.event_id = s.event_id and q.run = s.run and q.attempts = s.attempts
         returning q.event_id, q.run, q.lease_token)
  select event_id, lease_token,
         exists (select from {schema}.steps
                  where steps.event_id = changed.event_id and steps.run = changed.run) as has_steps
    from changed`

/** Inside the transaction that has claimed the events. */
export async function leaseClaimed(
  connection: Connection,
  events: readonly ClaimedEvent[],
  { workerId, limit, leaseMs }: GroupLeaseRequest,
): Promise<readonly LeasedEvent[]> {
  const { rows } = await connection.query<'event_id' | 'lease_token' | 'has_steps'>(LEASE_CLAIMED, [
    plainArray(events.map(({ eventId }) => eventId)),
    plainArray(events.map(({ run }) => run)),
    plainArray(events.map(({ attempt }) => attempt - 1)),
    workerId,
    limit,
    leaseMs,
  ])
  const byId = new Map(rows.map((row) => [row.event_id, row]))
  return events.flatMap((event) => {
    const row = byId.get(event.eventId)
    if (row?.lease_token == null) return []
    const { eventId, run } = event
    const lease = { eventId, run, token: Number(row.lease_token) }
    return [{ ...event, lease, hasSteps: row.has_steps === 't' }]
  })
}

export const CREATE_LEASE_DUE = `
-- Leases due events. Durable: a crash of the server that took the lease back would take the token back as well,
-- and give it to another worker while the first one still runs under it.
create or replace function {schema}.lease_due(
  worker text, topics bigint[], limits integer[], lease_ms float8, alone_from integer, suspect_lock bigint,
  bytes_max bigint)
returns table (event_id uuid, token bigint)
language plpgsql as $lease_due$
#variable_conflict use_column
declare
  suspect  record;
  is_alone boolean;
begin
  perform {schema}.require_settings();
  -- A worker without a record, or whose heart has stopped, would lose the lease at once.
  perform 1 from {schema}.workers
    where worker_id = worker and beat_at > clock_timestamp() - lease_ms * interval '1 millisecond';
  if not found then return; end if;

  select q.event_id, q.run into suspect
    from {schema}.queue q
   where ${CLAIMABLE.leasable}
     and q.topic = any(topics) and q.run_at <= (select clock_timestamp()) and q.crashes >= alone_from
   order by q.run_at, q.event_id
   limit 1
     for update skip locked;
  -- Whether one runs is asked after the lock is held, in a statement of its own: a snapshot from before would
  -- not see what the last holder of the lock has committed.
  is_alone := found and pg_try_advisory_xact_lock(suspect_lock);
  is_alone := is_alone and not exists (
    select from {schema}.queue q where q.lease_token is not null and q.crashes >= alone_from);
  if is_alone then
    return query
    update {schema}.queue q
       set attempts = q.attempts + 1, lease_token = nextval('{schema}.lease_tokens'), lease_worker = worker,
           lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
     where q.event_id = suspect.event_id and q.run = suspect.run
    returning q.event_id, q.lease_token;
    return;
  end if;

  for i in 1 .. cardinality(topics) loop
    return query
    with c as materialized (
           select q.event_id, q.run, q.run_at
             from {schema}.queue q
            where ${CLAIMABLE.leasable}
              and q.topic = topics[i] and q.run_at <= (select clock_timestamp()) and q.crashes < alone_from
            order by q.run_at, q.event_id
            limit limits[i]
              for update skip locked),
         sized as materialized (
           select c.event_id, c.run,
                  sum(octet_length(e.body)) over so_far as bytes, row_number() over so_far as place
             from c
            cross join lateral (select body from {schema}.events where id = c.event_id limit 1) e
           window so_far as (order by c.run_at, c.event_id rows unbounded preceding)),
         chosen as materialized (
           select event_id, run, place from sized where bytes <= bytes_max or place = 1 order by place)
    update {schema}.queue q
       set attempts = q.attempts + 1, lease_token = nextval('{schema}.lease_tokens'), lease_worker = worker,
           lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
      from chosen
     where q.event_id = chosen.event_id and q.run = chosen.run
    returning q.event_id, q.lease_token;
  end loop;
end
$lease_due$;`

// $1 worker  $2 topics  $3 limits  $4 lease in ms  $5 alone from  $6 suspect lock  $7 bytes
const LEASE_DUE = `
  select event_id, token
    from {schema}.lease_due($1, $2, $3, $4, $5, $6, $7)`

// $1 events
const EVENTS = `
  select e.id as event_id, q.topic, q.run, q.attempts - 1 as attempts, q.crashes, q.lease_token,
         ${CLAIMED_COLUMNS}, q.place,${LANE_COLUMNS},
         exists (select from {schema}.steps s where s.event_id = q.event_id and s.run = q.run) as has_steps
    from {schema}.queue q
   cross join lateral (select * from {schema}.events where id = q.event_id limit 1) e${joinReplay('q')}
    left join {schema}.lanes l on l.lane_id = q.lane_id
   where q.event_id = any($1::uuid[])
   order by q.run_at, q.event_id`

/**
 * A transaction of its own; then reads what was leased. If that fails, or the answer is lost, the leases
 * are used by no worker until `giveBackForgotten`.
 */
export async function leaseDue(
  connections: Connections,
  { workerId, topics, leaseMs, aloneFrom }: LeaseRequest,
  suspectLock: string,
): Promise<readonly LeasedEvent[]> {
  const taken = await connections.commitQuery<'event_id' | 'token'>(LEASE_DUE, [
    workerId,
    plainArray(topics.map(({ topic }) => topic)),
    plainArray(topics.map(({ limit }) => limit)),
    leaseMs,
    aloneFrom,
    suspectLock,
    CLAIM_BYTES_MAX,
  ])
  if (taken.length === 0) return []
  const tokens = new Set(taken.map(({ token }) => token))
  const events = plainArray(taken.map(({ event_id }) => event_id ?? ''))
  const { rows } = await connections.use(async (connection) => connection.query(EVENTS, [events]))
  // Taken from us between the two statements is taken.
  return rows
    .filter((row) => tokens.has(row['lease_token'] ?? ''))
    .map((row) => {
      const event = asClaimedEvent(row)
      const lease = {
        eventId: event.eventId,
        run: event.run,
        token: Number(row['lease_token']),
      }
      return { ...event, lease, hasSteps: row['has_steps'] === 't' }
    })
}

// $1 worker  $2 tokens that it knows
const GIVE_BACK_FORGOTTEN = `
  with held as materialized (
         select event_id, run
           from {schema}.queue
          where lease_worker = $1 and lease_token is not null
            and lease_until < clock_timestamp() and lease_token <> all ($2::bigint[])
            for update skip locked)
  update {schema}.queue q
     set attempts = q.attempts - 1, lease_token = null, lease_worker = null, lease_until = null,
         run_at = clock_timestamp()
    from held
   where q.event_id = held.event_id and q.run = held.run`

/** Runs inside a transaction of the caller. */
export async function giveBackForgotten(
  connection: Connection,
  workerId: string,
  known: readonly number[],
): Promise<number> {
  const { rowCount } = await connection.query(GIVE_BACK_FORGOTTEN, [workerId, plainArray(known)])
  return rowCount ?? 0
}
