/**
 * Removes bulks for which nothing was done for long enough: they have ended, were aborted, or were left lying.
 *
 * One bulk may have 100,000 events, so that it goes in several steps. The first of them takes it out of sight: what is
 * left of it is neither found nor run.
 *
 * @module
 */

// The second argument is there for the shape that all steps have: what was removed is not met again.
export const CREATE_PRUNE_BULKS = `
create or replace function {schema}.prune_bulks(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_bulks$
declare
  before_at timestamptz := to_timestamp((limits ->> 'audit')::float8 / 1000);
  old uuid;
  removed integer;
begin
  perform {schema}.prune_begin();
  select b.id into old
    from {schema}.bulks b
   where b.state = 'pruned'
      or (b.created_at < before_at
          and not exists (select from {schema}.bulk_events e where e.bulk_id = b.id and e.acted_at >= before_at))
   order by b.id
   limit 1
     for update skip locked;
  if old is null then
    return jsonb_build_object('removed', jsonb_build_object('bulks', 0), 'next', null);
  end if;
  update {schema}.bulks b set state = 'pruned' where b.id = old and b.state <> 'pruned';
  delete from {schema}.bulk_events e
   where e.bulk_id = old
     and e.event_id = any(array(select l.event_id
                                  from {schema}.bulk_events l
                                 where l.bulk_id = old
                                 order by l.event_id
                                 limit most));
  get diagnostics removed = row_count;
  if removed < most then
    delete from {schema}.bulks b where b.id = old;
  end if;
  return jsonb_build_object('removed', jsonb_build_object('bulks', (removed < most)::integer), 'next', after_id);
end
$prune_bulks$;`

// $1 limits  $2 as for other steps  $3 how many events are removed
export const PRUNE_BULKS = `
  select {schema}.prune_bulks($1, $2, $3) as step`
