/**
 * Removes the bodies and headers of events that have ended long enough ago, with the requests that they came in and
 * what is kept beside them.
 *
 * How an event ended stays, and its keys: a redelivery is still a duplicate, and is answered with the kept result.
 *
 * Most payloads leave with their partition (`drop-partitions.ts`); this takes what is left there.
 *
 * @module
 */

/** No row of the queue, and no message that is still to be sent or of which that is not known. */
export const hasNothingOpen = (eventId: string): string => `
         not exists (select from {schema}.queue q where q.event_id = ${eventId})
     and not exists (select
                       from {schema}.messages m
                       left join {schema}.message_outcomes x on x.message_id = m.id
                      where m.event_id = ${eventId}
                        and coalesce(x.state, 'queued') not in ('sent', 'discarded'))`

/** Whether `o` is how the latest run ended, in a state whose days have passed. A dead event has none. */
export const HAS_ENDED = `
         o.state <> 'dead'
     and o.settled_at < to_timestamp((limits ->> o.state)::float8 / 1000)
     and o.run = (select max(l.run) from {schema}.outcomes l where l.event_id = o.event_id)`

/** One pruner at a time. Each step takes the lock, so that one that has died is in the way of none. */
export const CREATE_PRUNE_BEGIN = `
create or replace function {schema}.prune_begin()
returns void
language plpgsql as $prune_begin$
begin
  perform from {schema}.meta where name = 'prune' for update skip locked;
  if not found then
    raise 'another pruner is at work' using errcode = 'lock_not_available';
  end if;
end
$prune_begin$;`

/** The least id of an event that was stored at this time: a UUIDv7 begins with 48 bits of milliseconds. */
export const CREATE_LOWEST_ID_AT = `
create or replace function {schema}.lowest_id_at(ms float8)
returns uuid
language sql immutable as $lowest_id_at$
  select rpad(lpad(to_hex(greatest(coalesce(ms, 0), 0)::bigint), 12, '0'), 32, '0')::uuid
$lowest_id_at$;`

// The events are locked first, and how they ended is looked at in a statement of its own: an operator that runs such an
// event again has the same lock (`event-standing.ts`), and its queue row is seen once that lock is ours.
export const CREATE_PRUNE_PAYLOADS = `
create or replace function {schema}.prune_payloads(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_payloads$
declare
  page uuid[];
  held uuid[];
  gone uuid[];
  requests uuid[];
  removed_requests integer;
  removed_attempts integer;
  removed_steps integer;
  removed_deliveries integer;
  before_id uuid := {schema}.lowest_id_at(greatest((limits ->> 'done')::float8, (limits ->> 'skipped')::float8,
                                                   (limits ->> 'discarded')::float8));
begin
  perform {schema}.prune_begin();
  page := array(select e.id
                  from {schema}.events e
                 where e.id > after_id and e.id < before_id
                 order by e.id
                 limit most);
  held := array(select e.id
                  from {schema}.events e
                 where e.id = any(page)
                   for update skip locked);
  with removed as (
         delete from {schema}.events e
          where e.id = any(held)
            and exists (select from {schema}.outcomes o where o.event_id = e.id and ${HAS_ENDED})
            and ${hasNothingOpen('e.id')}
         returning e.id, e.request_id)
  select coalesce(array_agg(removed.id), '{}'), array_agg(removed.request_id)
    into gone, requests
    from removed;
  delete from {schema}.requests r
   where r.id = any(requests)
     and not exists (select from {schema}.events e where e.request_id = r.id);
  get diagnostics removed_requests = row_count;
  delete from {schema}.attempts a where a.event_id = any(gone);
  get diagnostics removed_attempts = row_count;
  delete from {schema}.steps s where s.event_id = any(gone);
  get diagnostics removed_steps = row_count;
  delete from {schema}.deliveries d where d.event_id = any(gone);
  get diagnostics removed_deliveries = row_count;
  return jsonb_build_object(
    'removed', jsonb_build_object('events', cardinality(gone), 'requests', removed_requests,
                                  'attempts', removed_attempts, 'steps', removed_steps,
                                  'deliveries', removed_deliveries),
    'next', page[most]);
end
$prune_payloads$;`

// $1 limits  $2 after event  $3 how many are looked at
export const PRUNE_PAYLOADS = `
  select {schema}.prune_payloads($1, $2, $3) as step`
