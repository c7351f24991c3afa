/**
 * Opens `tx` steps in a transaction of the caller.
 *
 * The row of a step is written when its transaction opens, which arms the deferred trigger that makes every COMMIT
 * but ours fail, as `commit_guards` does for groups.
 *
 * @module
 */

export const CREATE_OPEN_STEPS = `
-- Makes sure of the leases, for as long as the transaction is open, and arms the guard against other COMMITs.
create or replace function {schema}.open_steps(
  events uuid[], runs integer[], tokens bigint[], handlers text[], positions integer[], kinds text[], names text[])
returns table (ord bigint, pid integer, xid xid8)
language plpgsql as $open_steps$
#variable_conflict use_column
begin
  return query
  with entry as materialized (
         select * from unnest(events, runs, tokens, handlers, positions, kinds, names)
           with ordinality as e (event_id, run, token, handler, position, kind, name, ord)),
       locked as materialized (
         select q.event_id, q.run, q.lease_token
           from {schema}.queue q
          where q.event_id = any(events) and q.lease_token = any(tokens)
          order by q.event_id
            for share),
       held as materialized (
         select entry.*
           from entry
           join locked on locked.event_id = entry.event_id and locked.run = entry.run
            and locked.lease_token = entry.token),
       opened as (
         insert into {schema}.steps (event_id, run, handler, position, kind, name, state, started_at)
         select event_id, run, handler, position, kind, name, 'open', clock_timestamp()
           from held
         returning event_id, run, handler, position)
  select held.ord, pg_backend_pid(), pg_current_xact_id()
    from held
    join opened on opened.event_id = held.event_id and opened.run = held.run
     and opened.handler = held.handler and opened.position = held.position;
end
$open_steps$;`
