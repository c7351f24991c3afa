/**
 * Removes what is kept beside an event: failed attempts, results of steps, counts of deliveries, runs. They may be kept for
 * a shorter time than its payload, and go with it at the latest.
 *
 * @module
 */

/** Runs have no time of their own: they go with the payload. */
export type BesidePart = 'attempts' | 'steps' | 'deliveries' | 'runs'

const createOf = (part: BesidePart): string => `
create or replace function {schema}.prune_${part}(limits jsonb, after_id uuid, most integer)
returns jsonb
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $prune_${part}$
declare
  page uuid[];
  removed integer;
begin
  perform {schema}.prune_begin();
  page := array(select distinct b.event_id
                  from {schema}.${part} b
                 where b.event_id > after_id
                 order by b.event_id
                 limit most);
  delete from {schema}.${part} b
   where b.event_id = any(page)
     and not exists (select from {schema}.queue q where q.event_id = b.event_id)
     and (not exists (select from {schema}.events e where e.id = b.event_id)
          or exists (select
                       from {schema}.outcomes o
                      where o.event_id = b.event_id and o.state <> 'dead'
                        and o.settled_at < to_timestamp((limits ->> '${part}')::float8 / 1000)
                        and o.run = (select max(l.run) from {schema}.outcomes l where l.event_id = o.event_id)));
  get diagnostics removed = row_count;
  return jsonb_build_object('removed', jsonb_build_object('${part}', removed), 'next', page[most]);
end
$prune_${part}$;`

export const CREATE_PRUNE_BESIDE: readonly string[] = [
  createOf('attempts'),
  createOf('steps'),
  createOf('deliveries'),
  createOf('runs'),
]

// $1 limits  $2 after event  $3 how many events are looked at
const callOf = (part: BesidePart): string => `
  select {schema}.prune_${part}($1, $2, $3) as step`

export const PRUNE_BESIDE: Readonly<Record<BesidePart, string>> = {
  attempts: callOf('attempts'),
  steps: callOf('steps'),
  deliveries: callOf('deliveries'),
  runs: callOf('runs'),
}
