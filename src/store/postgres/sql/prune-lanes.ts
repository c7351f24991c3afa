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

export const CREATE_PRUNE_LANES = `
create or replace function {schema}.prune_lanes(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_lanes$
declare
  page uuid[];
  held uuid[];
  ripe uuid[];
  -- As late as its last use may be written down, see mend-lanes.ts.
  used_before timestamptz := to_timestamp((limits ->> 'keys')::float8 / 1000) - interval '1 hour';
begin
  perform {schema}.prune_begin();
  page := array(select l.lane_id from {schema}.lanes l where l.lane_id > after_id order by l.lane_id limit most);
  held := array(select l.lane_id
                  from {schema}.lanes l
                 where l.lane_id = any(page) and l.paused_at is null
                   and l.used_at < used_before
                   for update skip locked);
  ripe := array(select h.lane_id
                  from unnest(held) as h (lane_id)
                 where not exists (select from {schema}.queue q
                                    where q.lane_id = h.lane_id and q.lane_id is not null
                                      and q.parked is distinct from 'waiting')
                   and not exists (select from {schema}.queue q where q.lane_id = h.lane_id and q.parked = 'waiting')
                   and not exists (select from {schema}.lane_blocks b where b.lane_id = h.lane_id));
  delete from {schema}.lane_facts f where f.lane_id = any(ripe);
  delete from {schema}.lanes l where l.lane_id = any(ripe);
  return jsonb_build_object('removed', jsonb_build_object('lanes', cardinality(ripe)), 'next', page[most]);
end
$prune_lanes$;`

// $1 limits  $2 after lane  $3 how many are looked at
export const PRUNE_LANES = `
  select {schema}.prune_lanes($1, $2, $3) as step`
