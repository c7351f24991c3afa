/**
 * Counts a crash on what dead workers were running.
 *
 * A crash is counted on an event only while the queue still holds the attempt that the worker announced;
 * the record goes in the same transaction, so no crash is counted twice.
 *
 * @module
 */

import type { RunningEvent, SweptEvent } from '../../contract.ts'
import type { Connection } from '../connection.ts'
import { endCrashed } from './end-crashed.ts'
import { insertFailure } from './settle.ts'

export interface SweepOptions {
  /** Workers. */
  readonly dead: readonly string[]
  readonly crashesMax: number
}

// 1 dead workers as JSON
const LIST_RECORDS = `
  select worker_id, slot, running
    from {prefix}workers
   where worker_id in (select value from json_each(?))
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
export function sweepWorkers(
  connection: Connection,
  { dead, crashesMax }: SweepOptions,
): SweptEvent[] {
  return connection.all<WorkerRow>(LIST_RECORDS, [JSON.stringify(dead)]).flatMap((worker) => {
    connection.run(DELETE_RECORD, [worker.worker_id, worker.slot])
    const running = JSON.parse(worker.running) as RunningEvent[]
    return running.flatMap((event) => countCrash(connection, event, worker.worker_id, crashesMax))
  })
}

type WorkerRow = {
  worker_id: string
  slot: number
  running: string
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
  return [{ eventId, crashes, dead, workerId }]
}
