/**
 * Discards events that have been dead for long. They can then no longer be retried, by an operator or by the sender,
 * and are pruned like any other that was discarded.
 *
 * @module
 */

// The id to begin after is there so that every part is called alike.
export const CREATE_PRUNE_DEAD = `
create or replace function {schema}.prune_dead(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set jit = off as $prune_dead$
declare
  discarded integer;
begin
  perform {schema}.prune_begin();
  with held as materialized (
         select o.event_id, o.run
           from {schema}.outcomes o
          where o.state = 'dead' and o.settled_at < to_timestamp((limits ->> 'dead')::float8 / 1000)
          limit most
            for update skip locked)
  update {schema}.outcomes o
     set state = 'discarded'
    from held
   where o.event_id = held.event_id and o.run = held.run;
  get diagnostics discarded = row_count;
  -- What was discarded is not found again, so that the next step begins where this one did.
  return jsonb_build_object('removed', jsonb_build_object('discarded', discarded),
                            'next', case when discarded = most then after_id end);
end
$prune_dead$;`

// $1 limits  $2 after event  $3 how many at most
export const PRUNE_DEAD = `
  select {schema}.prune_dead($1, $2, $3) as step`
