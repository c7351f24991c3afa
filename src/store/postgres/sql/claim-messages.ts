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
 * That one may have sent the message, so it is uncertain from when it was claimed.
 *
 * @module
 */

import type { ClaimedMessage } from '../../contract/messages.ts'
import { plainArray, textArray } from '../binary-array.ts'
import type { TextRow } from '../connection.ts'

export const CREATE_CLAIM_MESSAGES = `
create or replace function {schema}.claim_messages(names text[], limits integer[], ages_ms bigint[], lease_ms bigint)
returns table (
  id uuid, destination text, key text, event_id uuid, content_type text, headers text, body text,
  created_at bigint, attempts integer, token bigint, uncertain_for_ms bigint, answer text, same_answers integer,
  due_for_ms bigint)
language plpgsql as $claim_messages$
#variable_conflict use_column
declare
  -- A variable, since PostgreSQL uses no index for a comparison with a function that changes as it runs.
  due_by    timestamptz := clock_timestamp();
  low_water      timestamptz;
  taken     uuid[];
  first_due timestamptz;
begin
  perform {schema}.require_settings();
  for i in 1 .. cardinality(names) loop
    continue when exists (select from {schema}.pauses p where p.kind = 'destination' and p.name = names[i]);
    low_water := coalesce(due_by - ages_ms[i] * interval '1 millisecond', '-infinity');
    select array_agg(due.message_id), min(due.send_at)
      into taken, first_due
      from (select q.message_id, q.send_at
              from {schema}.message_queue q
             where q.destination = names[i]
               and q.send_at >= low_water
               and q.send_at <= due_by
             order by q.send_at, q.message_id
             limit limits[i]
               for update skip locked) due;
    continue when taken is null;
    return query
    with claimed as (
           update {schema}.message_queue q
              set lease_token = nextval('{schema}.message_lease_tokens'),
                  claimed_at = clock_timestamp(),
                  send_at = clock_timestamp() + lease_ms * interval '1 millisecond',
                  attempts = q.attempts + 1,
                  uncertain_since = case when q.lease_token is null then q.uncertain_since
                                         else coalesce(q.uncertain_since, q.claimed_at) end
            where q.message_id = any(taken)
           returning q.*)
    select m.id, m.destination, m.key, m.event_id, m.content_type, m.headers, encode(m.body, 'hex'),
           (extract(epoch from m.created_at) * 1000)::bigint, c.attempts, c.lease_token,
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
    headers: JSON.parse(row['headers'] ?? '{}') as Record<string, string>,
    body: Buffer.from(row['body'] ?? '', 'hex'),
    createdAt: new Date(Number(row['created_at'])),
    attempt: Number(row['attempts']),
    token: row['token'] ?? '',
    uncertainForMs:
      row['uncertain_for_ms'] == null ? undefined : Math.max(0, Number(row['uncertain_for_ms'])),
    answer: row['answer'] ?? undefined,
    sameAnswers: Number(row['same_answers']),
  }
}
