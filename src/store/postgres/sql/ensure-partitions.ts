/**
 * Makes the weekly partitions of this week and the next ones, where they are missing.
 *
 * Each is made as a table of its own and then attached, since ATTACH takes a lock on the parent that
 * lets inserts go on, where `create table … partition of` stops them. It also has to look through
 * the default partition under a strong lock: that one is empty as long as this runs in time.
 *
 * Only PostgreSQL: SQLite has no partitions.
 *
 * @module
 */

import { lowestIdAt } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import { findSqlState } from '../store-error.ts'

// $1 names of partitions
const FIND = `
  select name
    from unnest($1::text[]) name
   where to_regclass('{schema}.' || name) is null`

const NOW = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`

/** Runs inside a transaction of the caller. */
export async function ensurePartitions(connection: Connection): Promise<void> {
  const { rows } = await connection.query<'now'>(NOW)
  const wanted = listPartitions(Number(rows[0]?.now))
  const { rows: missing } = await connection.query<'name'>(FIND, [wanted.map(({ name }) => name)])
  const names = new Set(missing.map(({ name }) => name))
  for (const partition of wanted) {
    if (names.has(partition.name)) await attach(connection, partition)
  }
}

interface Partition {
  readonly parent: string
  readonly name: string
  readonly from: string
  readonly to: string
}

/** The tables with a partition for each week. */
export const PARTITIONED = ['events', 'requests', 'attempts', 'outcomes'] as const
const WEEKS = 3
export const WEEK_MS = 7 * 24 * 3_600_000
/** 1970-01-05, the first Monday. */
const FIRST_MONDAY_MS = 4 * 24 * 3_600_000

function listPartitions(nowMs: number): readonly Partition[] {
  const monday = weekBefore(nowMs)
  return Array.from({ length: WEEKS }, (_, ahead) => monday + ahead * WEEK_MS).flatMap((start) =>
    PARTITIONED.map((parent) => ({
      parent,
      name: `${parent}_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '')}`,
      from: lowestIdAt(start),
      to: lowestIdAt(start + WEEK_MS),
    })),
  )
}

/** The Monday before. */
export function weekBefore(ms: number): number {
  return FIRST_MONDAY_MS + Math.floor((ms - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS
}

/**
 * Each by itself: rows of its week that are in the default partition already keep that week there, and
 * must not keep the later weeks from being made.
 */
async function attach(
  connection: Connection,
  { parent, name, from, to }: Partition,
): Promise<void> {
  await connection.run('savepoint hookonce_partition')
  try {
    await connection.query(`create table {schema}.${name} (like {schema}.${parent} including all)`)
    await connection.query(
      `alter table {schema}.${parent} attach partition {schema}.${name} for values from ('${from}') to ('${to}')`,
    )
  } catch (error) {
    if (findSqlState(error) !== CHECK_VIOLATION) throw error
    await connection.run('rollback to savepoint hookonce_partition')
  }
  await connection.run('release savepoint hookonce_partition')
}

const CHECK_VIOLATION = '23514'
