/**
 * Removes messages that were sent or discarded long enough ago.
 *
 * One of an event that can still run is kept, since its row is what keeps the message from being sent twice: an event
 * that is queued or dead would write it again.
 *
 * @module
 */

export const CREATE_PRUNE_MESSAGES = `
create or replace function {schema}.prune_messages(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_messages$
declare
  page uuid[];
  held uuid[];
  gone uuid[];
begin
  perform {schema}.prune_begin();
  page := array(select x.message_id
                  from {schema}.message_outcomes x
                 where x.message_id > after_id
                   and x.message_id < {schema}.lowest_id_at((limits ->> 'messages')::float8)
                 order by x.message_id
                 limit most);
  held := array(select x.message_id
                  from {schema}.message_outcomes x
                 where x.message_id = any(page) and x.state in ('sent', 'discarded')
                   and x.settled_at < to_timestamp((limits ->> 'messages')::float8 / 1000)
                   for update skip locked);
  with removed as (
         delete from {schema}.messages m
          where m.id = any(held)
            and not exists (select from {schema}.queue q where q.event_id = m.event_id)
            and not exists (select from {schema}.outcomes o where o.event_id = m.event_id and o.state = 'dead')
         returning m.id)
  select coalesce(array_agg(removed.id), '{}') into gone from removed;
  delete from {schema}.message_outcomes x where x.message_id = any(gone);
  delete from {schema}.message_attempts a where a.message_id = any(gone);
  return jsonb_build_object('removed', jsonb_build_object('messages', cardinality(gone)), 'next', page[most]);
end
$prune_messages$;`

// $1 limits  $2 after message  $3 how many are looked at
export const PRUNE_MESSAGES = `
  select {schema}.prune_messages($1, $2, $3) as step`
