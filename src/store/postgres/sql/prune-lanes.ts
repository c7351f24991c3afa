/**
 * Forgets lanes in which nothing has happened for as long as keys are kept: which number comes next, which version was
 * applied, which types were done. Until then a redelivery is a duplicate, and what is older has its place.
 *
 * A lane that a sorter is about to use is locked by it (`HOLD_LANE` of `mend-lanes.ts`), and is left alone; one that is
 * being removed is waited for by the sorter, and made anew. What is in a lane is read by a later statement than the one
 * that locks it.
 *
 * @module
 */

import { USED_GRAIN_MS } from './mend-lanes.ts'

export const CREATE_PRUNE_LANES = `
create or replace function {schema}.prune_lanes(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_lanes$
declare
  page uuid[];
  held uuid[];
  ripe uuid[];
begin
  perform {schema}.prune_begin();
  page := array(select l.lane from {schema}.lanes l where l.lane > after_id order by l.lane limit most);
  held := array(select l.lane
                  from {schema}.lanes l
                 where l.lane = any(page) and l.paused_at is null
                   and l.used_at < to_timestamp(((limits ->> 'keys')::float8 - ${USED_GRAIN_MS}) / 1000)
                   for update skip locked);
  ripe := array(select h.lane
                  from unnest(held) as h (lane)
                 where not exists (select from {schema}.queue q
                                    where q.lane = h.lane and q.lane is not null
                                      and q.parked is distinct from 'waiting')
                   and not exists (select from {schema}.queue q where q.lane = h.lane and q.parked = 'waiting')
                   and not exists (select from {schema}.lane_blocks b where b.lane = h.lane));
  delete from {schema}.lane_facts f where f.lane = any(ripe);
  delete from {schema}.lanes l where l.lane = any(ripe);
  return jsonb_build_object('removed', jsonb_build_object('lanes', cardinality(ripe)), 'next', page[most]);
end
$prune_lanes$;`

// $1 limits  $2 after lane  $3 how many are looked at
export const PRUNE_LANES = `
  select {schema}.prune_lanes($1, $2, $3) as step`
