/**
 * Takes due messages under a lease, some of each destination that has room.
 *
 * One call for all destinations, in a function that keeps its plans: a relay that is idle asks for each
 * of them, and most have nothing. Each is an index scan of its own, so that a destination with a long
 * queue does not stand in front of the others. The messages are locked first and updated by their ids then:
 * a join with what a limited, locking query gives could be planned to lock more than it gives.
 *
 * Each from a low-water position of its own on, as with events (`../low-water-positions.ts`): while an old snapshot is
 * held somewhere, the dead entries of what was sent stay at the head of the index, and each claim would walk
 * over all of them. Measured on PostgreSQL 18 behind 100,000 sent messages: 25 to 34 ms and 6,402 buffers for
 * a claim that finds nothing, 1 ms from the position; and sending the 100,000 took 11.9 s without and 5.0 s with it.
 *
 * A relay that claims what was leased to another takes over from a relay that is gone, frozen or cut off.
 * That one may have sent the message, so it is uncertain from when it was claimed. What ended with its relay is counted
 * apart.
 *
 * One that is in a lane is taken when no other of its lane is in front of it, and else waits without a time
 * (`message-lanes.ts`). Such a look is repeated a few times when it found none to take, so that a long lane that was
 * just written does not cost a round trip for every few of its messages.
 *
 * @module
 */

import type { ClaimedMessage } from '../../contract/messages.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { TextRow } from '../connection.ts'

export const CREATE_CLAIM_MESSAGES = `
create or replace function {schema}.claim_messages(names text[], limits integer[], ages_ms bigint[], lease_ms bigint)
returns table (
  id uuid, destination text, key text, event_id uuid, content_type text, headers text, body text,
  created_at bigint, attempts integer, takeovers integer, token bigint, uncertain_for_ms bigint, answer text, same_answers integer,
  due_for_ms bigint)
language plpgsql as $claim_messages$
#variable_conflict use_column
declare
  -- A variable, since PostgreSQL uses no index for a comparison with a function that changes as it runs.
  due_by    timestamptz := clock_timestamp();
  low_water      timestamptz;
  taken     uuid[];
  in_lanes  uuid[];
  lanes     uuid[];
  left_out  uuid[];
  behind    uuid[];
  first_due timestamptz;
begin
  perform {schema}.require_settings();
  for i in 1 .. cardinality(names) loop
    continue when exists (select from {schema}.pauses p where p.kind = 'destination' and p.name = names[i]);
    low_water := coalesce(due_by - ages_ms[i] * interval '1 millisecond', '-infinity');
    for look in 1 .. 10 loop
      select array_agg(due.message_id), min(due.send_at),
             -- What is taken over from a relay that is gone is the one of its lane that was on its way.
             array_agg(due.message_id) filter (where due.lane_id is not null and due.lease_token is null)
        into taken, first_due, in_lanes
        from (select q.message_id, q.send_at, q.lane_id, q.lease_token
                from {schema}.message_queue q
               where q.destination = names[i]
                 and q.send_at >= low_water
                 and q.send_at <= due_by
               order by q.send_at, q.message_id
               limit limits[i]
                 for update skip locked) due;
      exit when in_lanes is null;
      -- One that is being claimed from or settled in is left alone: it will be looked at again.
      lanes := array(select l.lane_id
                       from (select distinct q.lane_id
                               from {schema}.message_queue q
                              where q.message_id = any(in_lanes)) l
                      where pg_try_advisory_xact_lock(hashtextextended(l.lane_id::text, 0)));
      -- A statement of its own, so that it sees what was committed before the locks were given.
      select array_agg(q.message_id), array_agg(q.message_id) filter (where q.lane_id = any(lanes))
        into left_out, behind
        from {schema}.message_queue q
       where q.message_id = any(in_lanes)
         and (q.lane_id <> all(lanes)
              or exists (select from {schema}.message_queue e
                          where e.lane_id = q.lane_id and e.lane_position < q.lane_position)
              or exists (select from {schema}.message_queue e
                          where e.lane_id = q.lane_id and e.lease_token is not null)
              or exists (select from {schema}.message_lane_blocks b where b.lane_id = q.lane_id));
      exit when left_out is null;
      update {schema}.message_queue q set send_at = null where q.message_id = any(behind);
      taken := nullif(array(select t.id from unnest(taken) as t (id) where t.id <> all(left_out)), '{}');
      exit when taken is not null or behind is null;
    end loop;
    continue when taken is null;
    return query
    with claimed as (
           update {schema}.message_queue q
              set lease_token = nextval('{schema}.message_lease_tokens'),
                  claimed_at = clock_timestamp(),
                  send_at = clock_timestamp() + lease_ms * interval '1 millisecond',
                  attempts = q.attempts + 1,
                  takeovers = q.takeovers + (q.lease_token is not null)::integer,
                  uncertain_since = case when q.lease_token is null then q.uncertain_since
                                         else coalesce(q.uncertain_since, q.claimed_at) end
            where q.message_id = any(taken)
           returning q.*)
    select m.id, m.destination, m.key, m.event_id, m.content_type, m.headers, encode(m.body, 'hex'),
           (extract(epoch from m.created_at) * 1000)::bigint, c.attempts, c.takeovers,
           c.lease_token,
           (extract(epoch from c.claimed_at - c.uncertain_since) * 1000)::bigint, c.answer, c.same_answers,
           (extract(epoch from due_by - first_due) * 1000)::bigint
      from claimed c
      join {schema}.messages m on m.id = c.message_id
     where m.id = any(taken)
     order by m.id;
  end loop;
end
$claim_messages$;`

// $1 destinations  $2 how many of each  $3 from how long ago on, in ms  $4 lease in ms
export const CLAIM_MESSAGES = `
  select * from {schema}.claim_messages($1, $2, $3, $4)`

export interface WantedMessages {
  readonly destination: string
  readonly limit: number
  /** How long ago the low-water position is; `undefined` looks at the whole queue. */
  readonly ageMs: number | undefined
}

export function claimValues(wanted: readonly WantedMessages[], leaseMs: number): unknown[] {
  return [
    textArray(wanted.map(({ destination }) => destination)),
    plainArray(wanted.map(({ limit }) => limit)),
    plainArray(wanted.map(({ ageMs }) => ageMs ?? 'NULL')),
    leaseMs,
  ]
}

/** For how long the first of the claimed messages was due, for each destination. */
export function readDueForMs(rows: readonly TextRow[]): ReadonlyMap<string, number> {
  return new Map(rows.map((row) => [row['destination'] ?? '', Number(row['due_for_ms'])]))
}

export function asClaimedMessage(row: TextRow): ClaimedMessage {
  return {
    id: row['id'] ?? '',
    destination: row['destination'] ?? '',
    key: row['key'] ?? '',
    eventId: row['event_id'] ?? undefined,
    contentType: row['content_type'] ?? '',
    headers: readHeaders(row['headers']),
    body: Buffer.from(row['body'] ?? '', 'hex'),
    createdAt: new Date(Number(row['created_at'])),
    attempt: Number(row['attempts']),
    takeovers: Number(row['takeovers']),
    token: row['token'] ?? '',
    uncertainForMs:
      row['uncertain_for_ms'] == null ? undefined : Math.max(0, Number(row['uncertain_for_ms'])),
    answer: row['answer'] ?? undefined,
    sameAnswers: Number(row['same_answers']),
  }
}
