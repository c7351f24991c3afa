/**
 * Counts a crash on what dead workers were running.
 *
 * A worker is dead when its heart has stopped for `deadAfterMs`, or when its process is gone from
 * this machine. A crash is counted on an event only while the queue still holds the attempt that the
 * worker announced; the record goes in the same transaction, so no crash is counted twice.
 *
 * @module
 */

import type { RunningEvent, SweptEvent } from '../../contract.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { isGone } from '../process-identity.ts'
import { endCrashed } from './end-crashed.ts'
import { insertFailure } from './settle.ts'

export interface SweepOptions {
  readonly deadAfterMs: number
  readonly crashesMax: number
  readonly me: string
}

// 1 how long a heart may stand still  2 the id of the worker that sweeps
const LIST_OTHERS = `
  select worker_id, slot, hostname, pid, running,
         heart_at <= cast(unixepoch('subsec') * 1000 as integer) - ? as stopped
    from {prefix}workers
   where worker_id <> ?
   order by worker_id, slot`

// 1 worker id  2 slot
const DELETE_RECORD = `
  delete from {prefix}workers
   where worker_id = ?
     and slot = ?`

// 1 event id  2 attempts
const COUNT_CRASH = `
  update {prefix}queue
     set crashes = crashes + 1
   where event_id = ?
     and attempts = ?
     and parked is null
  returning run, attempts, crashes`

/** Inside a write transaction, so that no living worker stands between its handlers and its commit. */
export function sweepWorkers(connection: Connection, options: SweepOptions): SweptEvent[] {
  return listDeadWorkers(connection, options).flatMap((worker) => {
    connection.run(DELETE_RECORD, [worker.worker_id, worker.slot])
    const running = JSON.parse(worker.running) as RunningEvent[]
    return running.flatMap((event) =>
      countCrash(connection, event, worker.worker_id, options.crashesMax),
    )
  })
}

/** Whether there is anything to sweep, asked without the write lock. */
export function hasDeadWorkers(connection: Connection, options: SweepOptions): boolean {
  return listDeadWorkers(connection, options).length > 0
}

type WorkerRow = {
  worker_id: string
  slot: number
  hostname: string
  pid: number
  running: string
  stopped: number
}

function listDeadWorkers(connection: Connection, { deadAfterMs, me }: SweepOptions): WorkerRow[] {
  const others = connection.all<WorkerRow>(LIST_OTHERS, [deadAfterMs, me])
  return others.filter((worker) => worker.stopped === 1 || isGone(worker))
}

function countCrash(
  connection: Connection,
  { eventId, attempt }: RunningEvent,
  workerId: string,
  crashesMax: number,
): SweptEvent[] {
  const [row] = connection.all<{ run: number; attempts: number; crashes: number }>(COUNT_CRASH, [
    eventId,
    attempt - 1,
  ])
  if (row === undefined) return []

  const { run, attempts, crashes } = row
  const message = `Worker ${workerId} died while it ran this event`
  insertFailure(
    connection,
    { eventId, run },
    { attempt, reason: 'crashed', message, durationMs: 0 },
  )
  const dead = crashes >= crashesMax
  if (dead) endCrashed(connection, { eventId, run, attempts })
  return [{ eventId, ...nameEvent(connection, eventId), attempt, crashes, dead, workerId }]
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
