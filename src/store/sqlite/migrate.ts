/**
 * Brings the schema to this code's version, or says why not.
 *
 * Many processes may start at once: each takes the write lock before it looks at what has run, so one of them
 * migrates and the others find it done.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.ts'
import { requirePrefix } from './options.ts'
import type { Writer } from './writer.ts'

const CREATE_MIGRATIONS = `create table if not exists {prefix}migrations (
  version integer primary key,
  applied_at integer not null
) strict;`

const TABLE_EXISTS = `
  select 1 as found
    from sqlite_schema
   where type = 'table'
     and name = '{prefix}migrations'`

const FIND_VERSION = `
  select coalesce(max(version), 0) as version
    from {prefix}migrations`

// 1 version
const INSERT = `
  insert into {prefix}migrations (version, applied_at)
  values (?, cast(unixepoch('subsec') * 1000 as integer))`

export async function migrate(reader: Connection, writer: Writer, waitMs: number): Promise<void> {
  // Most starts find nothing to do, and need not wait for a process that is writing.
  if (findVersion(reader) === SCHEMA_VERSION) return
  await writer.transact({ waitMs, durable: true }, (connection) => {
    const found = findVersion(connection)
    requireNotNewer(found)
    connection.execute(CREATE_MIGRATIONS)
    for (const { version, sql } of MIGRATIONS) {
      if (version <= (found ?? 0)) continue
      connection.execute(sql)
      connection.run(INSERT, [version])
    }
  })
}

/** Throws unless the schema is exactly the one this code knows. */
export function checkSchema(connection: Connection): void {
  const found = findVersion(connection)
  requireNotNewer(found)
  if (found === SCHEMA_VERSION) return
  throw found === undefined ? missing() : outdated(found)
}

/** Every statement that `migrate` would run on an empty database, to be read or run by hand. */
export function printMigrations({ prefix = 'hookonce_' }: { prefix?: string } = {}): string {
  requirePrefix(prefix)
  const statements = [CREATE_MIGRATIONS]
  for (const { version, sql } of MIGRATIONS) {
    statements.push(
      `-- Tables, version ${version}`,
      sql.trim(),
      `insert into {prefix}migrations (version, applied_at)\n` +
        `values (${version}, cast(unixepoch('subsec') * 1000 as integer));`,
    )
  }
  const text = `begin immediate;\n\n${statements.join('\n\n')}\n\ncommit;\n`
  return text.replaceAll('{prefix}', prefix)
}

/** `undefined` when there are no tables of ours. */
function findVersion(connection: Connection): number | undefined {
  if (connection.all(TABLE_EXISTS).length === 0) return undefined
  return connection.all<{ version: number }>(FIND_VERSION)[0]?.version
}

function requireNotNewer(found: number | undefined): void {
  if (found === undefined || found <= SCHEMA_VERSION) return
  throw new HookonceError(
    'SCHEMA_NEWER',
    `The schema is at version ${found} and this release of hookonce knows ${SCHEMA_VERSION}. ` +
      'A newer release has migrated it: update this process.',
  )
}

function missing(): HookonceError {
  return new HookonceError(
    'SCHEMA_MISSING',
    "The database has no tables of hookonce. Open the store once with migrate: 'auto', " +
      'or run what printMigrations() gives.',
  )
}

function outdated(found: number): HookonceError {
  return new HookonceError(
    'SCHEMA_OUTDATED',
    `The schema is at version ${found} and this release of hookonce needs ${SCHEMA_VERSION}. ` +
      "Open the store once with migrate: 'auto', or run the later part of what printMigrations() gives.",
  )
}
