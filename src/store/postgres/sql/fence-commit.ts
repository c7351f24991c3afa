/**
 * What the fence of a transaction that is lent does at COMMIT, and wherever deferred constraints are checked: it fails
 * every COMMIT but ours.
 *
 * It is called by triggers on `commit_fences`, for groups, and on `steps`. The migration that makes those triggers
 * makes a function of this name that always fails (`inbox-tables.ts`); this one takes its place.
 *
 * Only PostgreSQL: on SQLite a handler has no connection on which it could commit.
 *
 * @module
 */

export const CREATE_FENCE_COMMIT = `
create or replace function {schema}.fence_commit() returns trigger language plpgsql as $fence$
declare
  -- One line for each call that led here.
  calls text;
begin
  if current_setting('hookonce.commit', true) is not distinct from 'ours' then
    return null;
  end if;
  get diagnostics calls = pg_context;
  -- SET CONSTRAINTS ALL IMMEDIATE comes here as COMMIT does. No code can commit from within this transaction.
  if strpos(calls, chr(10)) = 0
     and (current_query() !~* '\\mconstraints\\M' or current_query() ~* '\\m(commit|end|prepare)\\M') then
    raise exception 'a handler may not commit the transaction it was lent'
      using errcode = 'invalid_transaction_termination';
  end if;
  -- Armed again.
  set constraints {schema}.fence_commit, {schema}.fence_step deferred;
  if tg_table_name = 'commit_fences' then
    update {schema}.commit_fences f set uses = f.uses + 1
     where f.worker_id = new.worker_id and f.slot = new.slot;
  else
    update {schema}.steps s set state = s.state
     where s.event_id = new.event_id and s.run = new.run and s.handler = new.handler and s.position = new.position;
  end if;
  return null;
end
$fence$;`
