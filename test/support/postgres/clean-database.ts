/**
 * Empties a database that holds our schema, and says what it is like, to see whether that was enough.
 *
 * @module
 */

/**
 * Removes what tests make, and empties what they fill.
 *
 * Tables are truncated, since dead rows would slow down later tests, and some count what is read; only those
 * with something in them, since each costs a handful of files. What a migration writes is left as it is: where
 * a test changed that, the description differs. Only what forgetting and pruning change is made anew, as a migration does
 * it: a database that had to be made for each of their tests cost ten times as much as one that is cleaned.
 */
export const CLEAN = `
do $clean$
declare
  made   text;
  filled text;
begin
  for made in
    select nspname from pg_namespace
     where nspname !~ '^pg_' and nspname not in ('information_schema', 'hookonce')
  loop
    execute format('drop schema %I cascade', made);
  end loop;
  create schema public authorization pg_database_owner;
  grant usage on schema public to public;

  select string_agg(oid::regclass::text, ', ') into filled
    from pg_class
   where relnamespace = to_regnamespace('hookonce')
     and relkind = 'r'
     and relname not in ('meta', 'migrations')
     and pg_relation_size(oid) > 0;
  if filled is not null then
    execute 'truncate ' || filled;
  end if;
  -- The rows of it that are not a migration's; and what a migration writes that is another one in every database.
  delete from hookonce.meta
   where name in ('clock', 'set_backs', 'history', 'retention', 'forgotten_before')
      or starts_with(name, 'encryption_');
  update hookonce.meta set value = gen_random_uuid()::text where name = 'epoch';
  update hookonce.meta
     set value = json_build_object('atMs', (extract(epoch from clock_timestamp()) * 1000)::bigint,
                                   'usualEvents', 0, 'usualKeys', 0)::text
   where name = 'prune';

  perform setval(seqrelid, seqstart, false) from pg_sequence;
end
$clean$`

/** Where a definition is. What `truncate` writes to is not among them. */
const DEFINITIONS = [
  'pg_attrdef',
  'pg_attribute',
  'pg_constraint',
  'pg_default_acl',
  'pg_event_trigger',
  'pg_extension',
  'pg_index',
  'pg_inherits',
  'pg_policy',
  'pg_proc',
  'pg_publication',
  'pg_rewrite',
  'pg_sequence',
  'pg_statistic_ext',
  'pg_trigger',
  'pg_type',
  // What a migration writes, beside the rows below.
  'hookonce.migrations',
]

/**
 * One text for all that a test could have changed, and the text that was kept when the database was made.
 *
 * Definitions are not compared but counted, with the latest transaction that wrote one of them: what is
 * changed is written again. A table is described by its row, without what emptying it changes and without
 * `relhastriggers`, which stays when the trigger goes.
 */
export const DESCRIBE = `
with
tables as (
  select to_jsonb(t) - '{relfilenode, relpages, reltuples, relallvisible, relallfrozen}'::text[]
           - '{relfrozenxid, relminmxid, relhastriggers}'::text[]
           || jsonb_build_object(
                'is_empty', pg_relation_size(t.oid) = 0,
                'statistics', (select count(*) from pg_statistic where starelid = t.oid)) as it
    from pg_class t
   where relnamespace = to_regnamespace('hookonce')),
schemas as (
  select to_jsonb(n) - 'oid' as it from pg_namespace n where nspname !~ '^pg_'),
definitions as (
  ${DEFINITIONS.map(
    (name) => `select count(*) as many, max(xmin::text::bigint) as latest from ${name}`,
  ).join('\n   union all\n  ')})
select md5(concat_ws(' ',
         (select jsonb_agg(it order by it) from tables),
         (select jsonb_agg(it order by it) from schemas),
         (select jsonb_agg(array[many, latest]) from definitions),
         (select jsonb_agg(array[name, case when name not in ('epoch', 'prune') then value end] order by name)
            from hookonce.meta)
       )) as description,
       shobj_description(oid, 'pg_database') as original
  from pg_database
 where datname = current_database()`
