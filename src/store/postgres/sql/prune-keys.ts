/**
 * Removes the keys of events that ended long enough ago, and how they ended where their payload is gone as well.
 *
 * All keys of an event go in one transaction, with a new epoch, so that no process goes on answering from its memory,
 * and with the time before which keys are no longer known: a later delivery of an event from before that time is kept
 * for a person, since it may have run.
 *
 * A delivery that comes meanwhile waits for this transaction, as every insert of a key does that is being deleted. It
 * then finds the key gone, and its event is a new one; or finds it there, because this was rolled back.
 *
 * @module
 */

import { hasNothingOpen } from './prune-payloads.ts'

export const CREATE_PRUNE_KEYS = `
create or replace function {schema}.prune_keys(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_keys$
declare
  page uuid[];
  held uuid[];
  ripe uuid[];
  removed_keys integer;
  removed_outcomes integer;
begin
  perform {schema}.prune_begin();
  page := array(select o.event_id
                  from {schema}.outcomes o
                 where o.event_id > after_id
                   and o.event_id < {schema}.lowest_id_at((limits ->> 'keys')::float8)
                 order by o.event_id
                 limit most);
  held := array(select o.event_id
                  from {schema}.outcomes o
                 where o.event_id = any(page) and o.state <> 'dead'
                   and o.settled_at < to_timestamp((limits ->> 'keys')::float8 / 1000)
                   and o.run = (select max(l.run) from {schema}.outcomes l where l.event_id = o.event_id)
                   for update skip locked);
  ripe := array(select h.event_id
                  from unnest(held) as h (event_id)
                 where ${hasNothingOpen('h.event_id')});
  delete from {schema}.keys k where k.event_id = any(ripe);
  get diagnostics removed_keys = row_count;
  if removed_keys > 0 then
    update {schema}.meta set value = gen_random_uuid()::text where name = 'epoch';
    insert into {schema}.meta (name, value)
    values ('forgotten_before', ((limits ->> 'keys')::float8)::bigint::text)
        on conflict (name) do update
       set value = greatest(meta.value::bigint, excluded.value::bigint)::text;
  end if;
  delete from {schema}.outcomes o
   where o.event_id = any(ripe)
     and not exists (select from {schema}.events e where e.id = o.event_id);
  get diagnostics removed_outcomes = row_count;
  return jsonb_build_object(
    'removed', jsonb_build_object('keys', removed_keys, 'outcomes', removed_outcomes),
    'next', page[most]);
end
$prune_keys$;`

// $1 limits  $2 after event  $3 how many are looked at
export const PRUNE_KEYS = `
  select {schema}.prune_keys($1, $2, $3) as step`
