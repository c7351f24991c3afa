/**
 * A run of the pruner as one call, for `pg_cron` or whatever else can only send a statement: `select hookonce.prune()`.
 *
 * It is one transaction, so it has an end: ten steps of each part, and `more` in its answer where that was not enough.
 * How long things are kept is what the inbox that was started last has written down. Partitions are left to a process
 * of ours: a function cannot free a lock and try again.
 *
 * When to stop is the rule of `src/retention/excess.ts`; `test/store/postgres/prune-function.test.ts` holds the two
 * together.
 *
 * Only PostgreSQL: SQLite has no functions in the database.
 *
 * @module
 */

export const CREATE_IS_PRUNE_EXCESSIVE = `
create or replace function {schema}.is_prune_excessive(share jsonb, limit_ms float8, last jsonb, usual float8)
returns boolean
language plpgsql as $is_prune_excessive$
declare
  day_ms constant float8 := 86400000;
  now_ms float8 := extract(epoch from clock_timestamp()) * 1000;
  pause_ms float8 := now_ms - (last ->> 'atMs')::float8;
  old float8 := (share ->> 'old')::float8;
  there float8 := (share ->> 'there')::float8;
  expected float8 := case when limit_ms is null then 0
                          else day_ms / greatest(day_ms, now_ms - limit_ms) end;
begin
  if pause_ms < 0 or pause_ms > 8 * day_ms then
    return old > there * 0.2;
  end if;
  return old > greatest(1000, usual * 2) and old > there * greatest(0.2, expected * 3);
end
$is_prune_excessive$;`

export const CREATE_PRUNE = `
create or replace function {schema}.prune()
returns jsonb
language plpgsql as $prune$
declare
  day_ms constant float8 := 86400000;
  steps constant integer := 10;
  step_rows constant integer := 1000;
  policy jsonb := (select value from {schema}.meta where name = 'retention')::jsonb;
  last jsonb;
  now_ms float8 := extract(epoch from clock_timestamp()) * 1000;
  limits jsonb;
  survey jsonb;
  removed jsonb := '{}';
  part text;
  after_id uuid;
  step jsonb;
  is_more boolean := false;
  fades float8;
begin
  perform {schema}.prune_begin();
  if policy is null then
    return jsonb_build_object('status', 'refused', 'code', 'RETENTION_UNKNOWN',
      'reason', 'No inbox has written down on this database how long things are kept',
      'instead', 'Start an inbox once');
  end if;
  select value::jsonb into last from {schema}.meta where name = 'prune';
  select jsonb_object_agg(days.part, case when policy ->> days.option <> 'forever'
                                          then now_ms - (policy ->> days.option)::float8 * day_ms end)
    into limits
    from (values ('done', 'doneDays'), ('skipped', 'skippedDays'), ('discarded', 'discardedDays'),
                 ('dead', 'deadDays'), ('attempts', 'attemptsDays'), ('steps', 'stepsDays'),
                 ('deliveries', 'deliveriesDays'), ('messages', 'messagesDays'), ('audit', 'auditDays'),
                 ('keys', 'keysDays'))
         as days (part, option);
  survey := {schema}.prune_survey(limits);
  if {schema}.is_prune_excessive(survey -> 'events', greatest((limits ->> 'done')::float8,
                                 (limits ->> 'skipped')::float8, (limits ->> 'discarded')::float8),
                                 last, (last ->> 'usualEvents')::float8)
     or {schema}.is_prune_excessive(survey -> 'keys', (limits ->> 'keys')::float8, last,
                                    (last ->> 'usualKeys')::float8) then
    return jsonb_build_object('status', 'refused', 'code', 'PRUNE_UNUSUAL',
      'reason', 'It would remove far more than usual', 'survey', survey,
      'instead', 'Check the clock and the retention options. If it is meant, call admin.prune({ force: true, reason })');
  end if;

  foreach part in array array['dead', 'payloads', 'attempts', 'steps', 'deliveries', 'runs', 'messages', 'audit',
                             'bulks', 'keys', 'lanes'] loop
    after_id := '00000000-0000-0000-0000-000000000000';
    for nth in 1..steps loop
      execute 'select {schema}.prune_' || part || '($1, $2, $3)' into step using limits, after_id, step_rows;
      select removed || jsonb_object_agg(one.key, coalesce((removed ->> one.key)::bigint, 0) + one.value::bigint)
        into removed
        from jsonb_each_text(step -> 'removed') one;
      after_id := (step ->> 'next')::uuid;
      exit when after_id is null;
    end loop;
    is_more := is_more or after_id is not null;
  end loop;

  fades := power(0.9, greatest(0, now_ms - (last ->> 'atMs')::float8) / day_ms);
  update {schema}.meta
     set value = jsonb_build_object(
           'atMs', now_ms::bigint,
           'usualEvents', ceil(greatest((last ->> 'usualEvents')::float8 * fades,
                                        (removed ->> 'events')::float8)),
           'usualKeys', ceil(greatest((last ->> 'usualKeys')::float8 * fades,
                                      (removed ->> 'keys')::float8)))::text
   where name = 'prune';
  return jsonb_build_object('status', 'done', 'removed', removed, 'more', is_more);
end
$prune$;`
