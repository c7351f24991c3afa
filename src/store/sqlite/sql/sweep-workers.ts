/**
 * Counts a crash on what dead workers were running.
 *
 * A crash is counted on an event only while the queue still holds the attempt that the worker announced;
 * the record goes in the same transaction, so no crash is counted twice. A worker that is taken for dead
 * and lives may be running a handler without the lock: the crash that is counted here is what its
 * transaction, which opens late, finds changed.
 *
 * @module
 */

import type { RunningEvent, SweptEvent } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { endCrashed } from './end-crashed.ts'
import { insertFailure } from './settle.ts'

/** Of workers that are dead. */
export interface SweepOptions {
  readonly dead: readonly string[]
  readonly crashesMax: number
}

// 1 worker id
const DELETE_RECORDS = `
  delete from {prefix}workers
   where worker_id = ?
  returning slot, running`

// 1 event id  2 attempts
const COUNT_CRASH = `
  update {prefix}queue
     set crashes = crashes + 1
   where event_id = ?
     and attempts = ?
     and parked is null
  returning run, attempts, crashes`

/** Inside a write transaction, so that no worker stands between its settling and its commit. */
export function sweepWorkers(
  connection: Connection,
  { dead, crashesMax }: SweepOptions,
): SweptEvent[] {
  const swept = new Map<string, SweptEvent>()
  for (const workerId of dead)
    for (const event of takeRecords(connection, workerId)) {
      // Several dead workers may list an event, where each died before the crash of the one before was counted. In
      // between it had no chance to run alone, so that is one crash.
      if (swept.has(event.eventId)) continue
      const crashed = countCrash(connection, event, workerId, crashesMax)
      if (crashed !== undefined) swept.set(event.eventId, crashed)
    }
  return [...swept.values()]
}

/** What the slots of a worker were running, of which there is no record from then on. */
function takeRecords(connection: Connection, workerId: string): readonly RunningEvent[] {
  return connection
    .all<{ slot: number; running: string }>(DELETE_RECORDS, [workerId])
    .toSorted((one, other) => one.slot - other.slot)
    .flatMap(({ running }) => JSON.parse(running) as RunningEvent[])
}

function countCrash(
  connection: Connection,
  { eventId, attempt }: RunningEvent,
  workerId: string,
  crashesMax: number,
): SweptEvent | undefined {
  const [row] = connection.all<{ run: number; attempts: number; crashes: number }>(COUNT_CRASH, [
    eventId,
    attempt - 1,
  ])
  if (row === undefined) return undefined

  const { run, attempts, crashes } = row
  const message = `Worker ${workerId} died while it ran this event`
  insertFailure(
    connection,
    { eventId, run },
    { attempt, reason: 'crashed', message, durationMs: 0 },
  )
  const dead = crashes >= crashesMax
  if (dead) endCrashed(connection, { eventId, run, attempts })
  return { eventId, ...nameEvent(connection, eventId), attempt, crashes, dead, workerId }
}

// 1 event id
const NAME_EVENT = `
  select source, cast(type as blob) as type, event_key
    from {prefix}events
   where id = ?`

/** What people know an event by. */
export function nameEvent(
  connection: Connection,
  eventId: string,
): Pick<SweptEvent, 'source' | 'type' | 'key'> {
  type NameRow = { source: string; type: Uint8Array; event_key: Uint8Array | null }
  const [row] = connection.all<NameRow>(NAME_EVENT, [eventId])
  return {
    source: row?.source ?? '',
    type: row === undefined ? '' : decodeText(row.type),
    key: row?.event_key == null ? '' : decodeText(row.event_key),
  }
}
