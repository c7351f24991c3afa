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
     and s.state = 'open';
  get diagnostics kept = row_count;
  if kept <> cardinality(array_positions(ran, true)) then
    raise exception 'this is not the transaction that the steps were opened in'
      using errcode = 'invalid_transaction_termination';
  end if;
  if kept < cardinality(ran) then
    delete from {schema}.steps s
     using unnest(events, runs, handlers, positions) as e (event_id, run, handler, position)
     where s.event_id = e.event_id and s.run = e.run and s.handler = e.handler and s.position = e.position
       and s.state = 'open';
  end if;
end
$finish_steps$;`
