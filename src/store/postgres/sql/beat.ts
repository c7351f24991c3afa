/**
 * Confirms that the database is still the one it was, and tells what died in it.
 *
 * The epoch is put together from what changes when memory of committed keys must not be trusted:
 * a value that forget and prune change, the timeline of the WAL (a promoted standby or a point-in-time
 * restore starts a new one), the cluster, the database and the table (another restore).
 *
 * @module
 */

import { StoreUnavailableError } from '../../../errors.ts'
import type { Beat, HistoryPoint } from '../../contract/events.ts'
import type { Connection, TextRow } from '../connection.ts'
import { readHistory } from './keep-history.ts'

const DIED_MAX = 1_000

const clusterSql = (canReadControl: boolean): string =>
  canReadControl ? '(select system_identifier from pg_control_system())::text' : `'?'`

// $1 since, in ms; none when null  $2 how many of the dead
const beatSql = (canReadControl: boolean): string => `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
         pg_is_in_recovery() as is_standby,
         (select value from {schema}.meta where name = 'epoch') as epoch,
         (select value from {schema}.meta where name = 'forgotten_before') as forgotten,
         case when not pg_is_in_recovery()
              then substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end as timeline,
         -- What is flushed is never lost in a crash, so that it goes back only with the disk.
         case when not pg_is_in_recovery()
              then pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') end as flushed,
         pg_postmaster_start_time() as started,
         (select value from {schema}.meta where name = 'history') as kept,
         (select value from {schema}.meta where name = 'clock') as clock,
         current_setting('synchronous_standby_names') <> '' as is_replicated,
         ${clusterSql(canReadControl)} as cluster,
         (select oid from pg_database where datname = current_database()) as database,
         '{schema}.keys'::regclass::oid as keys,
         array(select event_id
                 from {schema}.outcomes
                where state = 'dead'
                  and settled_at > to_timestamp($1::float8 / 1000) - interval '60 seconds'
                limit $2) as died`

const BEAT = beatSql(false)
const BEAT_WITH_CLUSTER = beatSql(true)

export const CAN_READ_CONTROL = `
  select has_function_privilege('pg_control_system()', 'execute') as is_allowed`

export interface BeatFound extends Omit<Beat, 'skewMs' | 'history'> {
  readonly nowMs: number
  readonly history: Omit<HistoryPoint, 'rewinds'>
  /** How far the log is on the disk. */
  readonly flushed: bigint
}

export async function beat(
  connection: Connection,
  { since, canReadControl }: { since: Date | undefined; canReadControl: boolean },
): Promise<BeatFound> {
  const { rows } = await connection.query(canReadControl ? BEAT_WITH_CLUSTER : BEAT, [
    since?.getTime() ?? null,
    DIED_MAX + 1,
  ])
  const row = rows[0] ?? {}
  if (row['is_standby'] !== 'f')
    throw new StoreUnavailableError('This PostgreSQL is a standby and cannot store')

  const nowMs = Number(row['now'])
  const died = (row['died'] ?? '').match(/[0-9a-f-]{36}/g) ?? []
  const history = [row['timeline'], row['cluster'], row['database'], row['keys']]
  const startedAt = row['started'] ?? ''
  const parts = [row['epoch'], ...history, startedAt]
  // More than we list: every process has to forget all the keys it remembers.
  if (died.length > DIED_MAX) parts.push(`many-died-${nowMs}`)
  return {
    epoch: parts.join('/'),
    now: new Date(nowMs),
    nowMs,
    died: died.slice(0, DIED_MAX),
    forgottenBefore: row['forgotten'] == null ? undefined : new Date(Number(row['forgotten'])),
    flushed: BigInt(row['flushed'] ?? 0),
    history: {
      id: history.join('/'),
      isReplicated: row['is_replicated'] === 't',
      startedAt,
      drops: row['epoch'] ?? '',
      kept: findKept(row),
    },
  }
}

function findKept(row: TextRow): HistoryPoint['kept'] {
  const kept = readHistory(row['kept'])
  if (kept === undefined) return undefined
  return { ...kept, lastAt: row['clock'] == null ? undefined : new Date(Number(row['clock'])) }
}
