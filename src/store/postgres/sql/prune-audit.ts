/**
 * Removes what operators did long enough ago. Its rows are numbered as they were written, so the oldest come first.
 *
 * @module
 */

// The second argument is there for the shape that all steps have: what was removed is not met again.
export const CREATE_PRUNE_AUDIT = `
create or replace function {schema}.prune_audit(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_audit$
declare
  removed integer;
begin
  perform {schema}.prune_begin();
  with old as materialized (
         select a.id, a.acted_at
           from {schema}.audit a
          order by a.id
          limit most
            for update skip locked)
  delete from {schema}.audit a
   using old
   where a.id = old.id and old.acted_at < to_timestamp((limits ->> 'audit')::float8 / 1000);
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('audit', removed),
                            'next', case when removed = most then after_id end);
end
$prune_audit$;`

// $1 limits  $2 as for other steps  $3 how many are looked at
export const PRUNE_AUDIT = `
  select {schema}.prune_audit($1, $2, $3) as step`
