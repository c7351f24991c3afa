/**
 * Brings the schema to this code's version, or says why not.
 *
 * Ten processes that start at once are one after the other here: a transaction-level advisory lock,
 * taken inside the one transaction that migrates, which also works behind a transaction pooler.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { lockNumber } from './lock-number.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.ts'
import { inTransaction } from './transaction.ts'
import { ensurePartitions } from './sql/ensure-partitions.ts'

/** Takes the connection and gives it back. */
export async function migrate(
  connection: Connection,
  schema: string,
  mode: 'auto' | 'check',
): Promise<void> {
  try {
    const found = await findVersion(connection, schema)
    requireNotNewer(found, schema)
    if (found === SCHEMA_VERSION) return connection.release()
    if (mode === 'check') throw found === undefined ? missing(schema) : outdated(schema, found)
  } catch (error) {
    connection.release()
    throw error
  }
  await inTransaction(connection, { statementTimeoutMs: 0, lockTimeoutMs: 0 }, async () => {
    await connection.query('select pg_advisory_xact_lock($1)', [lockNumber(schema, 'migrate')])
    // Another process may have done it while we waited.
    const current = await findVersion(connection, schema)
    requireNotNewer(current, schema)
    await apply(connection, schema, current)
  })
}

/** Every statement that `migrate` would run on an empty database, to be read or run by hand. */
export function printMigrations(quotedSchema: string): string {
  const statements = [`create schema if not exists ${quotedSchema};`, CREATE_MIGRATIONS]
  for (const { version, name, sql } of MIGRATIONS) {
    statements.push(
      `-- ${version}: ${name}${sql}`,
      `insert into {schema}.migrations (version) values (${version});`,
    )
  }
  return `begin;\n\n${statements.join('\n\n')}\n\ncommit;\n`.replaceAll('{schema}', quotedSchema)
}

const CREATE_MIGRATIONS = `create table if not exists {schema}.migrations (
  version    integer     primary key,
  applied_at timestamptz not null default now()
);`

// From the catalog's tables and not by to_regclass(): that one answers from the session's cache, which
// does not hear of others' tables while it waits for an advisory lock.
const FIND_MIGRATIONS = `
  select exists (select
                   from pg_class c
                   join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = $1 and c.relname = 'migrations') as found`

async function apply(
  connection: Connection,
  schema: string,
  current: number | undefined,
): Promise<void> {
  // "create schema if not exists" needs the right to create one even where it is there already.
  const { rows } = await connection.query<'is_there'>(
    'select exists (select from pg_namespace where nspname = $1) as is_there',
    [schema],
  )
  if (rows[0]?.is_there !== 't') await connection.query('create schema {schema}')

  await connection.query(CREATE_MIGRATIONS)
  for (const { version, sql } of MIGRATIONS) {
    if (version <= (current ?? 0)) continue
    await connection.run(sql.replaceAll('{schema}', `"${schema}"`))
    await connection.query('insert into {schema}.migrations (version) values ($1)', [version])
  }
  await ensurePartitions(connection)
}

async function findVersion(connection: Connection, schema: string): Promise<number | undefined> {
  const { rows: tables } = await connection.query<'found'>(FIND_MIGRATIONS, [schema])
  if (tables[0]?.found !== 't') return undefined
  const { rows } = await connection.query<'version'>(
    'select coalesce(max(version), 0) as version from {schema}.migrations',
  )
  return Number(rows[0]?.version)
}

function requireNotNewer(found: number | undefined, schema: string): void {
  if (found === undefined || found <= SCHEMA_VERSION) return
  throw new HookonceError(
    'SCHEMA_NEWER',
    `The schema "${schema}" is at version ${found} and this release of hookonce knows ${SCHEMA_VERSION}. ` +
      'A newer release has migrated it: update this process.',
  )
}

function missing(schema: string): HookonceError {
  return new HookonceError(
    'SCHEMA_MISSING',
    `The schema "${schema}" has no tables of hookonce. Open the store once with migrate: 'auto', ` +
      'or run what printMigrations() gives.',
  )
}

function outdated(schema: string, found: number): HookonceError {
  return new HookonceError(
    'SCHEMA_OUTDATED',
    `The schema "${schema}" is at version ${found} and this release of hookonce needs ${SCHEMA_VERSION}. ` +
      "Open the store once with migrate: 'auto', or run the later part of what printMigrations() gives.",
  )
}
