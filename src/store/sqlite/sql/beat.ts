import type { Beat } from '../../contract/events.ts'
import type { Connection } from '../connection.ts'

/**
 * How far back a beat looks beyond the last one, for deaths whose commit came after their time was
 * taken. That is one fsync on a healthy disk; a minute also covers a disk that stalls.
 */
const OVERLAP_MS = 60_000

const NOW = `
  select value as epoch, cast(unixepoch('subsec') * 1000 as integer) as now,
         (select cast(value as integer) from {prefix}meta where name = 'forgotten_before') as forgotten
    from {prefix}meta
   where name = 'epoch'`

// 1 since
const LIST_DIED = `
  select event_id
    from {prefix}outcomes
   where state = 'dead'
     and settled_at >= ?`

/** Reads what memory of committed keys must be checked against. The clock is this machine's, so it has no skew. */
export function beat(connection: Connection, since: Date | undefined): Beat {
  const [row] = connection.all<{ epoch: string; now: number; forgotten: number | null }>(NOW)
  if (row === undefined) throw new Error('The database has lost its epoch')
  const died =
    since === undefined
      ? []
      : connection.all<{ event_id: string }>(LIST_DIED, [since.getTime() - OVERLAP_MS])
  return {
    epoch: row.epoch,
    now: new Date(row.now),
    forgottenBefore: row.forgotten === null ? undefined : new Date(row.forgotten),
    died: died.map(({ event_id }) => event_id),
    skewMs: 0,
  }
}
