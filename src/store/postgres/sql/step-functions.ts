/**
 * The functions that open `tx` steps in a transaction of the caller, and finish them in it.
 *
 * The row of a step is written when its transaction opens, which arms the deferred trigger that makes every COMMIT
 * but ours fail, as `commit_fences` does for groups. Steps lock the queue row FOR SHARE, so that two steps of one
 * event do not wait for each other; a worker that ends or takes a lease needs the row for itself, and waits for them
 * or skips it.
 *
 * Only PostgreSQL: SQLite has no functions in the database.
 *
 * @module
 */

export const CREATE_OPEN_STEPS = `
-- Makes sure of the leases, for as long as the transaction is open, and arms the fence against other COMMITs.
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
         select event_id, run, handler, position, kind, name, 'started', clock_timestamp()
           from held
         returning event_id, run, handler, position)
  select held.ord, pg_backend_pid(), pg_current_xact_id()
    from held
    join opened on opened.event_id = held.event_id and opened.run = held.run
     and opened.handler = held.handler and opened.position = held.position;
end
$open_steps$;`

export const CREATE_FINISH_STEPS = `
-- Keeps the results of the steps that ran, and takes back the others.
create or replace function {schema}.finish_steps(
  events uuid[], runs integer[], handlers text[], positions integer[], ran boolean[], results text[])
returns void language plpgsql as $finish_steps$
declare
  kept integer;
begin
  update {schema}.steps s
     set state = 'done', result = e.result
    from unnest(events, runs, handlers, positions, ran, results)
      as e (event_id, run, handler, position, ran, result)
   where e.ran and s.event_id = any(events)
     and s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
     and s.state = 'started';
  get diagnostics kept = row_count;
  if kept <> cardinality(array_positions(ran, true)) then
    raise exception 'this is not the transaction that the steps were opened in'
      using errcode = 'invalid_transaction_termination';
  end if;
  if kept < cardinality(ran) then
    delete from {schema}.steps s
     using unnest(events, runs, handlers, positions) as e (event_id, run, handler, position)
     where s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
       and s.state = 'started';
  end if;
end
$finish_steps$;`
