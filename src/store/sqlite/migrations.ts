/**
 * The schema, as a list of steps that only grows.
 *
 * A step that was released is never changed. Many processes may start at once: each takes the write
 * lock before it looks at what has run, so one of them migrates and the others find it done.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { requirePrefix } from './options.ts'
import { CREATE_OUTBOX } from './outbox-schema.ts'
import { STEPS_SCHEMA } from './steps-schema.ts'
import type { Writer } from './writer.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

const CREATE_MIGRATIONS = `
  create table if not exists {prefix}migrations (
    version integer primary key,
    name text not null,
    applied_at integer not null
  ) strict;`

/*
 * Times are milliseconds since 1970. Text that a sender chose may hold a NUL, which libsql cuts a
 * text at when it reads one, so such columns are read through a cast to blob.
 *
 * The queue has one partial index for each kind of claim (`steps-schema.ts`). They do not see what is parked.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'the inbox',
    sql: `
  create table {prefix}keys (
    hash blob not null primary key,
    event_id text not null,
    fingerprint blob not null
  ) strict, without rowid;
  create index {prefix}keys_event on {prefix}keys (event_id);

  create table {prefix}events (
    id text not null primary key,
    source text not null,
    event_key blob,
    type text not null,
    topic integer not null,
    key_hash blob not null,
    body blob not null,
    headers text not null,
    received_at integer not null,
    occurred_at integer,
    secret text not null
  ) strict;
  create index {prefix}events_key on {prefix}events (source, event_key);

  create table {prefix}queue (
    event_id text not null primary key,
    topic integer not null,
    run integer not null default 0,
    run_at integer not null,
    attempts integer not null default 0,
    crashes integer not null default 0,
    parked text check (parked in ('waiting', 'unhandled', 'paused', 'conflict', 'quarantined')),
    parked_reason text
  ) strict, without rowid;
  create index {prefix}queue_parked on {prefix}queue (parked, topic) where parked is not null;

  create table {prefix}outcomes (
    event_id text not null,
    run integer not null,
    state text not null check (state in ('done', 'dead', 'skipped', 'discarded')),
    attempts integer not null,
    duration_ms real not null,
    reason text,
    result text,
    settled_at integer not null,
    primary key (event_id, run)
  ) strict, without rowid;
  create index {prefix}outcomes_dead on {prefix}outcomes (settled_at) where state = 'dead';

  create table {prefix}attempts (
    number integer primary key,
    event_id text not null,
    run integer not null,
    attempt integer not null,
    reason text not null,
    message text not null,
    duration_ms real not null,
    failed_at integer not null
  ) strict;
  create index {prefix}attempts_event on {prefix}attempts (event_id);

  create table {prefix}deliveries (
    event_id text not null,
    minute integer not null,
    outcome text not null,
    count integer not null,
    primary key (event_id, minute, outcome)
  ) strict, without rowid;

  create table {prefix}workers (
    worker_id text not null,
    slot integer not null,
    hostname text not null,
    pid integer not null,
    heart_at integer not null,
    running text not null default '[]',
    handles text not null default '[]',
    primary key (worker_id, slot)
  ) strict, without rowid;

  create table {prefix}meta (
    name text not null primary key,
    value text not null
  ) strict, without rowid;
  insert into {prefix}meta (name, value) values ('epoch', lower(hex(randomblob(16))));`,
  },
  { version: 2, name: 'the outbox', sql: CREATE_OUTBOX },
  { version: 3, name: 'steps', sql: STEPS_SCHEMA },
  {
    version: 4,
    name: 'requests',
    // What an event is a part of, kept once for all its events.
    sql: `
  alter table {prefix}events add column request_id text;
  create table {prefix}requests (
    id text not null primary key,
    body blob not null
  ) strict;`,
  },
]

const TABLE_EXISTS = `
  select 1 as found
    from sqlite_schema
   where type = 'table'
     and name = '{prefix}migrations'`

const VERSION = `
  select coalesce(max(version), 0) as version
    from {prefix}migrations`

const INSERT = `
  insert into {prefix}migrations (version, name, applied_at)
  values (?, ?, cast(unixepoch('subsec') * 1000 as integer))`

/** Brings the schema up to date. */
export async function migrate(reader: Connection, writer: Writer, waitMs: number): Promise<void> {
  // Most starts find nothing to do, and need not wait for a process that is writing.
  if (readVersion(reader) === newestVersion()) return
  await writer.transact({ waitMs, durable: true }, (connection) => {
    const version = readVersion(connection)
    refuseNewer(version)
    connection.execute(CREATE_MIGRATIONS)
    for (const migration of MIGRATIONS.slice(version)) {
      connection.execute(migration.sql)
      connection.run(INSERT, [migration.version, migration.name])
    }
  })
}

/** Throws unless the schema is exactly the one this code knows. */
export function checkSchema(connection: Connection): void {
  const version = readVersion(connection)
  refuseNewer(version)
  if (version === newestVersion()) return
  const advice = "Open the store once with migrate: 'auto', or run the text of printMigrations()."
  if (connection.all(TABLE_EXISTS).length === 0)
    throw new HookonceError('SCHEMA_MISSING', `The database has no tables of ours. ${advice}`)
  throw new HookonceError(
    'SCHEMA_OUTDATED',
    `The schema is at version ${version} and this code needs ${newestVersion()}. ${advice}`,
  )
}

/** The whole schema as SQL text, for those who run migrations themselves. */
export function printMigrations({ prefix = 'hookonce_' }: { prefix?: string } = {}): string {
  requirePrefix(prefix)
  const steps = MIGRATIONS.map(
    ({ version, name, sql }) =>
      `-- ${version}: ${name}\n${sql}\n\n` +
      `  insert into {prefix}migrations (version, name, applied_at)\n` +
      `  values (${version}, '${name}', cast(unixepoch('subsec') * 1000 as integer));`,
  )
  const text = ['begin immediate;', CREATE_MIGRATIONS, ...steps, 'commit;'].join('\n\n')
  return `${text.replaceAll('{prefix}', prefix)}\n`
}

function readVersion(connection: Connection): number {
  if (connection.all(TABLE_EXISTS).length === 0) return 0
  return connection.all<{ version: number }>(VERSION)[0]?.version ?? 0
}

function refuseNewer(version: number): void {
  if (version <= newestVersion()) return
  throw new HookonceError(
    'SCHEMA_NEWER',
    `The schema is at version ${version} and this code knows ${newestVersion()} only. ` +
      'A later version of hookonce has migrated it: use that version.',
  )
}

function newestVersion(): number {
  return MIGRATIONS.length
}
