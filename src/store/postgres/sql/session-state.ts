/**
 * Reads what a handler could leave behind on its connection: one line for each thing, in the order of `TRACES`.
 *
 * A function, for the reason given in `record-new.ts`: it is asked twice for every transaction that is lent, and
 * as a text it would be parsed and planned each time. Measured, of the database's time: 20 µs, and 85 µs more as a
 * text. What it reads is named with its schema, since a temporary table comes before all others.
 *
 * The list of all settings takes another 400 µs. It is read only where a handler may have run code of which the
 * texts of its statements do not tell what it does (`session-watch.ts`). Settings of the user's own, such as
 * `app.tenant`, PostgreSQL does not list at all: they are asked for by the names that are found in the sources of
 * the database's functions, and in texts of handlers.
 *
 * Only PostgreSQL: on SQLite handlers can leave only temporary objects (`temporary-objects.ts`).
 *
 * @module
 */

import { textArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement-batch.ts'

/**
 * Settings by which a handler would change what a statement of ours does. In this order they are put back: who may
 * take on a role depends on the session's user, and the rest on the role.
 */
export const SETTINGS_OF_OURS = [
  'session_authorization',
  'role',
  'search_path',
  'row_security',
  'session_replication_role',
  'client_encoding',
  'client_min_messages',
  'array_nulls',
] as const

/** Those, and the ones by which it would change what another handler does. */
const NAMED = [
  ...SETTINGS_OF_OURS,
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'transaction_timeout',
  'synchronous_commit',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'default_transaction_deferrable',
  'TimeZone',
  'DateStyle',
] as const

/** Set by every transaction for itself, so that they differ inside and outside of it. */
const OWN_SETTINGS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'transaction_timeout',
  'synchronous_commit',
  'transaction_isolation',
  'transaction_read_only',
  'transaction_deferrable',
] as const

/** What each line is about, in the words of a message. The last has all settings, in JSON, and statements by name. */
export const TRACES = [...NAMED, 'temporary objects', 'cursors', 'channels', 'settings'] as const

export type Trace = (typeof TRACES)[number]

/** What was read, by name. */
export type State = Readonly<Record<Trace, string>>

// `transaction_timeout` came with PostgreSQL 17.
const named = NAMED.map(getSetting)
const own = OWN_SETTINGS.map((name) => `'${name}'`)

export const CREATE_SESSION_STATE = `
create or replace function {schema}.session_state(in_full boolean, own_names text[])
returns text language plpgsql as $session_state$
declare
  objects text;
  cursors text;
  channels text;
  settings text;
begin
  if pg_catalog.pg_my_temp_schema() <> 0 then
    select pg_catalog.string_agg(d.classid || ' ' || d.objid, ',' order by d.classid, d.objid)
      into objects
      from pg_catalog.pg_depend d
     where d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
       and d.refobjid = pg_catalog.pg_my_temp_schema();
  end if;
  select pg_catalog.string_agg(c.name, ',' order by c.name) into cursors
    from pg_catalog.pg_cursors c
   where c.name <> '';
  select pg_catalog.string_agg(c, ',' order by c) into channels
    from pg_catalog.pg_listening_channels() c;
  if in_full then
    select pg_catalog.json_object_agg(s.name, s.value) into settings
      from (select p.name, p.setting
              from pg_catalog.pg_settings p
             where p.source = 'session' and p.name not like 'hookonce.%' and p.name not in (${own.join(', ')})
             union all
            select n, pg_catalog.current_setting(n, true)
              from pg_catalog.unnest(own_names) n
             where pg_catalog.current_setting(n, true) <> ''
             union all
            select 'prepared statement ' || d.name, d.statement
              from pg_catalog.pg_prepared_statements d
             where d.from_sql) as s (name, value);
  end if;
  return pg_catalog.concat_ws(pg_catalog.chr(10),
    ${named.join(',\n    ')},
    coalesce(objects, ''), coalesce(cursors, ''), coalesce(channels, ''),
    coalesce(settings, ''));
end
$session_state$;`

function getSetting(name: string): string {
  return `coalesce(pg_catalog.current_setting('${name}', true), '')`
}

// Those in quotes, as `set_config` is given them, and those after SET.
const LIST_NAMES = `
  select distinct pg_catalog.lower(m[1]) as name
    from pg_catalog.pg_proc p
   cross join lateral pg_catalog.regexp_matches(
         coalesce(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc),
         '(?:''|\\mset\\s+(?:local\\s+|session\\s+)?)([a-z_][a-z0-9_$]*(?:\\.[a-z_][a-z0-9_$]*)+)', 'gi') m
   where p.oid >= $1`

/** What is numbered from here on did not come with PostgreSQL. */
const FIRST_OWN_OBJECT = 16_384

/** The settings of the user's own that functions in this database may change. */
export async function listSettingNames(connection: Connection): Promise<readonly string[]> {
  const { rows } = await connection.query<'name'>(LIST_NAMES, [FIRST_OWN_OBJECT])
  return rows.flatMap(({ name }) => name ?? [])
}

// By name, since what calls what PostgreSQL does not keep. Ours is there for when a handler does it.
const LIST_HAZARDS = `
  with recursive code as materialized (
         select p.oid, pg_catalog.lower(p.proname) as name,
                pg_catalog.lower(coalesce(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc)) as source
           from pg_proc p
          where p.oid >= $1 and p.proname <> 'fence_commit'),
       hazards (oid, name, what) as (
         select c.oid, c.name, said.what
           from code c
          cross join (values ('SET CONSTRAINTS', '\\mset\\s+constraints\\M'),
                             ('A session lock', '\\mpg_(try_)?advisory_lock(_shared)?\\M')) as said (what, pattern)
          where c.source ~ said.pattern
          union
         select more.oid, more.name, s.what
           from hazards s
          cross join lateral (
                select c.oid, c.name from code c where pg_catalog.strpos(c.source, s.name) > 0
                 union all
                select null, pg_catalog.lower(r.relname)
                  from pg_trigger t
                  join pg_class r on r.oid = t.tgrelid
                 where t.tgfoid = s.oid) more)
  select distinct name, what from hazards`

/**
 * The functions in this database that may say SET CONSTRAINTS or take a session lock, and the tables with a trigger
 * that may, each with what that is. When constraints are checked, and which locks end with the transaction, PostgreSQL
 * does not tell, so that it cannot be seen when it is done.
 */
export async function listHazards(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const { rows } = await connection.query<'name' | 'what'>(LIST_HAZARDS, [FIRST_OWN_OBJECT])
  return new Map(rows.map(({ name, what }) => [name ?? '', what ?? '']))
}

const NAME_IN_TEXT = /(?:'|\bset\s+(?:local\s+|session\s+)?)([a-z_][\w$]*(?:\.[a-z_][\w$]*)+)/gi

/** Those that the text of a statement names. */
export function findSettingNames(sql: string): readonly string[] {
  return [...sql.matchAll(NAME_IN_TEXT)].map(([, name = '']) => name.toLowerCase())
}

// $1 whether in full  $2 names of the user's own settings
const LOOK = 'select {schema}.session_state($1, $2) as state'
const LAST_LOOK = `${LOOK}, pg_catalog.pg_advisory_unlock_all()`

export interface SessionLook {
  readonly inFull: boolean
  /** Found by one of the above. */
  readonly names: Iterable<string>
}

export function lookAtSession({ inFull, names }: SessionLook): Statement {
  return { text: LOOK, values: [inFull, textArray(inFull ? [...names] : [])] }
}

/** The same, for when a transaction has ended. It also frees session locks. */
export function lookLast(look: SessionLook): Statement {
  return { ...lookAtSession(look), text: LAST_LOOK }
}
