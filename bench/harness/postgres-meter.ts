/**
 * What PostgreSQL spends, read from the side.
 *
 * - Processor time: that of the server's whole family, with its checkpointer and its log writer.
 * - Log: how far the position in the write-ahead log has moved. Commits: the records of them in between, read with
 *   `pg_walinspect`. A transaction that wrote nothing has none, and costs no flush.
 * - Flushes: from `pg_stat_io`. A connection tells what it counted once a second at most, and when it ends, so they are
 *   read while the subject has no connection.
 *
 * The server works for one subject at a time; this looks at all of it.
 *
 * @module
 */

import type { Pool } from 'pg'
import { readFamilyCpuUs, readProcessTimes } from './process-times.ts'

export interface PostgresReading {
  readonly cpuUs: number | undefined
  readonly logPosition: string
  readonly logBytes: number
}

const READ = `
  select pg_backend_pid() as pid, pg_current_wal_insert_lsn() as position,
         pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`

// $1 from  $2 to
const COUNT_COMMITS = `
  select coalesce(sum(count), 0)::float8 as commits
    from pg_get_wal_stats($1, $2, true)
   where "resource_manager/record_type" = 'Transaction/COMMIT'`

const COUNT_FLUSHES = `
  select sum(fsyncs)::float8 as flushes
    from pg_stat_io
   where object = 'wal'`

// $1 database
const COUNT_CONNECTIONS = `
  select count(*)::integer as connections
    from pg_stat_activity
   where datname = $1
     and application_name <> 'bench'`

const ENDED_WITHIN_MS = 10_000
const LOOK_EVERY_MS = 20

export class PostgresMeter {
  readonly #admin: Pool

  /** @param admin - connections that no subject uses */
  constructor(admin: Pool) {
    this.#admin = admin
  }

  async read(): Promise<PostgresReading> {
    const { rows } = await this.#admin.query<{ pid: number; position: string; bytes: number }>(READ)
    const { pid, position, bytes } = rows[0]!
    const server = readProcessTimes(pid)?.parentPid
    return {
      cpuUs: server === undefined ? undefined : readFamilyCpuUs(server),
      logPosition: position,
      logBytes: bytes,
    }
  }

  /** `undefined` when the log from then is not kept any more, or cannot be read on this server. */
  async countCommits(from: PostgresReading, to: PostgresReading): Promise<number | undefined> {
    try {
      await this.#admin.query('create extension if not exists pg_walinspect')
      const { rows } = await this.#admin.query<{ commits: number }>(COUNT_COMMITS, [
        from.logPosition,
        to.logPosition,
      ])
      return rows[0]!.commits
    } catch {
      return undefined
    }
  }

  /** So far, once no subject is connected to the database any more. */
  async countFlushes(database: string): Promise<number | undefined> {
    const giveUpAt = performance.now() + ENDED_WITHIN_MS
    for (;;) {
      const { rows } = await this.#admin.query<{ connections: number }>(COUNT_CONNECTIONS, [
        database,
      ])
      if (rows[0]?.connections === 0) break
      if (performance.now() > giveUpAt) return undefined
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
    const { rows } = await this.#admin.query<{ flushes: number | null }>(COUNT_FLUSHES)
    return rows[0]?.flushes ?? undefined
  }
}
