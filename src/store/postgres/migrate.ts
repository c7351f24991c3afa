/**
 * Brings the schema to this code's version, or says why not.
 *
 * Ten processes that start at once are one after the other here: a transaction-level advisory lock,
 * taken inside the one transaction that migrates, which also works behind a transaction pooler.
 *
 * Tables have a version and go one way: a release that finds later ones is refused. Functions have a revision. Earlier
 * ones are replaced; later ones are left as they are, so that the two releases of a deploy that is under way do not
 * undo each other's, and are used as long as they can be called (`docs/decisions/2026-11-functions-are-not-migrations.md`).
 *
 * Changing a table needs it alone, and what asks for it alone is passed by nothing that comes later: behind a report that
 * reads for an hour, and a migration that waits for it, every delivery would wait for an hour. So a migration waits
 * shortly, and tries again (`test/store/postgres/migrate-beside-readers.test.ts`).
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises'
import { HookonceError, StoreUnavailableError } from '../../errors.ts'
import {
  applyFunctions,
  findFunctions,
  hasOwnFunctions,
  printFunctions,
} from './apply-functions.ts'
import type { Connection } from './connection.ts'
import { ownFunctions } from './functions.ts'
import type { FunctionSet } from './functions.ts'
import { lockNumber } from './lock-number.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.ts'
import { findSqlState } from './store-error.ts'
import { inTransaction } from './transaction.ts'
import { ensurePartitions } from './sql/ensure-partitions.ts'

/** No limit but for locks: a migration takes as long as it takes. */
const LIMITS = { statementTimeoutMs: 0, lockTimeoutMs: 0, idleTimeoutMs: 0 }
/** How long deliveries may wait behind a try. */
const LOCK_MS = 500
/** Between two tries, longer each time: as long as it was in the way at least. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000, 8_000] as const

/** Takes the connection and gives it back. Returns what the user is to be warned of. */
export async function migrate(
  connection: Connection,
  schema: string,
  mode: 'auto' | 'check',
): Promise<readonly string[]> {
  try {
    const found = await find(connection, schema)
    requireUsable(found, schema)
    if (isUpToDate(found)) {
      connection.returnToPool()
      return warningsOf(found, schema)
    }
    if (mode === 'check')
      throw found.version === undefined ? missing(schema) : outdated(schema, found)
  } catch (error) {
    connection.returnToPool()
    throw error
  }
  return inTransaction(connection, LIMITS, async () => {
    await connection.query('select pg_advisory_xact_lock($1)', [lockNumber(schema, 'migrate')])
    // Another process may have done it while we waited.
    const current = await find(connection, schema)
    requireUsable(current, schema)
    if (!isUpToDate(current))
      await withShortLocks(connection, async () => {
        await applyMigrations(connection, schema, current.version)
        await applyFunctions(connection, schema)
      })
    return warningsOf(current, schema)
  })
}

/**
 * Runs what takes locks, and begins anew where one is not to be had in time: what it had locked by then is free while
 * it pauses. The caller's transaction stays open, and with it the lock for which other processes that start wait, so that
 * one of them tries and not all in turns.
 *
 * @throws StoreUnavailableError when it is in vain
 */
export async function withShortLocks(
  connection: Connection,
  change: () => Promise<void>,
  pausesMs: readonly number[] = PAUSES_MS,
): Promise<void> {
  await connection.query(`select set_config('lock_timeout', $1, true)`, [String(LOCK_MS)])
  for (const pauseMs of [...pausesMs, undefined]) {
    await connection.run('savepoint hookonce_migration')
    try {
      await change()
      return await connection.run('release savepoint hookonce_migration')
    } catch (error) {
      if (findSqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      if (pauseMs === undefined) throw inTheWay(error)
      await connection.run('rollback to savepoint hookonce_migration')
      await pause(pauseMs)
    }
  }
}

const LOCK_NOT_AVAILABLE = '55P03'

function inTheWay(cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError(
    'The tables could not be migrated: other transactions have used them all the while. Look in pg_stat_activity for ' +
      'one that is open for long, end it, and start again.',
    { cause },
  )
}

/** Every statement that `migrate` would run on an empty database, to be read or run by hand. */
export function printMigrations(quotedSchema: string): string {
  const scripts = listScripts(quotedSchema).map(({ sql }) => sql)
  return `begin;\n\n${scripts.join('\n')}\ncommit;\n`
}

/** A part of the schema that is put in at once: the tables of one version, or all functions. */
export interface MigrationScript {
  readonly of: 'tables' | 'functions'
  /** The version of the tables, or the revision of the functions. */
  readonly number: number
  /** Without a transaction around it. */
  readonly sql: string
}

/** In the order in which they are run on an empty database. */
export function listScripts(quotedSchema: string): readonly MigrationScript[] {
  const script = (of: MigrationScript['of'], number: number, statements: readonly string[]) => ({
    of,
    number,
    sql: `${statements.join('\n\n')}\n`.replaceAll('{schema}', quotedSchema),
  })
  const { revision } = ownFunctions()
  return [
    ...MIGRATIONS.map(({ version, sql }, at) =>
      script('tables', version, [
        ...(at === 0 ? ['create schema if not exists {schema};', CREATE_MIGRATIONS] : []),
        `-- Tables, version ${version}`,
        sql.trim(),
        `insert into {schema}.migrations (version) values (${version});`,
      ]),
    ),
    script('functions', revision, [`-- Functions, revision ${revision}`, ...printFunctions()]),
  ]
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

async function applyMigrations(
  connection: Connection,
  schema: string,
  current: number | undefined,
): Promise<void> {
  if (current === SCHEMA_VERSION) return
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

/** What is in the database. */
interface Found {
  /** Of the tables; `undefined` when there are none. */
  readonly version: number | undefined
  /** Looked for only where the tables are there to be used. */
  readonly functions: FunctionSet | undefined
  /** Whether the functions can be called as this release calls them. Asked only of later ones. */
  readonly isCallable: boolean
}

async function find(connection: Connection, schema: string): Promise<Found> {
  const version = await findVersion(connection, schema)
  if (version !== SCHEMA_VERSION) return { version, functions: undefined, isCallable: true }
  const functions = await findFunctions(connection)
  const isCallable = !isLater(functions) || (await hasOwnFunctions(connection, schema))
  return { version, functions, isCallable }
}

async function findVersion(connection: Connection, schema: string): Promise<number | undefined> {
  const { rows: tables } = await connection.query<'found'>(FIND_MIGRATIONS, [schema])
  if (tables[0]?.found !== 't') return undefined
  const { rows } = await connection.query<'version'>(
    'select coalesce(max(version), 0) as version from {schema}.migrations',
  )
  return Number(rows[0]?.version)
}

function isUpToDate({ version, functions }: Found): boolean {
  if (version !== SCHEMA_VERSION) return false
  return functions?.checksum === ownFunctions().checksum || isLater(functions)
}

function isLater(functions: FunctionSet | undefined): functions is FunctionSet {
  return functions !== undefined && functions.revision > ownFunctions().revision
}

function requireUsable({ version, functions, isCallable }: Found, schema: string): void {
  if (version !== undefined && version > SCHEMA_VERSION)
    throw newer(
      schema,
      `is at version ${version} and this release of hookonce knows ${SCHEMA_VERSION}`,
    )
  if (isLater(functions) && !isCallable)
    throw newer(
      schema,
      `has functions of revision ${functions.revision}, which this release of hookonce cannot call`,
    )
}

function warningsOf({ functions }: Found, schema: string): readonly string[] {
  if (!isLater(functions)) return []
  return [
    `The functions in the schema "${schema}" are of a later release of hookonce than this process: revision ` +
      `${functions.revision}, where this one has ${ownFunctions().revision}. It uses them as they are. Update this ` +
      'process; or, to go back to this release, run the functions that its printMigrations() gives.',
  ]
}

function newer(schema: string, what: string): HookonceError {
  return new HookonceError(
    'SCHEMA_NEWER',
    `The schema "${schema}" ${what}. A newer release has migrated it: update this process.`,
  )
}

function missing(schema: string): HookonceError {
  return new HookonceError(
    'SCHEMA_MISSING',
    `The schema "${schema}" has no tables of hookonce. Open the store once with migrate: 'auto', ` +
      'or run what printMigrations() gives.',
  )
}

function outdated(schema: string, { version }: Found): HookonceError {
  const what =
    version === SCHEMA_VERSION
      ? 'has functions of another release of hookonce'
      : `is at version ${version} and this release of hookonce needs ${SCHEMA_VERSION}`
  return new HookonceError(
    'SCHEMA_OUTDATED',
    `The schema "${schema}" ${what}. Open the store once with migrate: 'auto', ` +
      'or run the later part of what printMigrations() gives.',
  )
}
