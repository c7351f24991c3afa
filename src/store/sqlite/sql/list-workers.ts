import type { RunningStats, WorkerStats } from '../../../model/stats.ts'
import type { Connection } from '../connection.ts'

const LIST = `
  select worker_id, beat_at, running, running_since
    from {prefix}workers
   order by worker_id, slot`

// A slot says what it runs when it begins to; a lease says who has it.
const LIST_LEASED = `
  select lease_worker as worker_id, event_id, attempts
    from {prefix}queue
   where lease_token is not null
   order by event_id`

/** Those that have a record, and what they run. */
export function listWorkers(connection: Connection): readonly WorkerStats[] {
  const slots = connection.all<SlotRow>(LIST)
  const leased = connection.all<LeasedRow>(LIST_LEASED)
  return [...new Set(slots.map(({ worker_id }) => worker_id))].map((workerId) => {
    const own = slots.filter(({ worker_id }) => worker_id === workerId)
    return {
      workerId,
      beatAt: new Date(Math.max(...own.map(({ beat_at }) => beat_at))),
      running: [
        ...own.flatMap(listRunning),
        ...leased.filter(({ worker_id }) => worker_id === workerId).map(asRunning),
      ],
    }
  })
}

type SlotRow = {
  worker_id: string
  beat_at: number
  running: string
  running_since: number | null
}

type LeasedRow = {
  worker_id: string
  event_id: string
  attempts: number
}

function listRunning({ running, running_since }: SlotRow): readonly RunningStats[] {
  const since = running_since === null ? undefined : new Date(running_since)
  const list = JSON.parse(running) as readonly Omit<RunningStats, 'since'>[]
  return list.map(({ eventId, attempt }) => ({ eventId, attempt, since }))
}

function asRunning({ event_id, attempts }: LeasedRow): RunningStats {
  return { eventId: event_id, attempt: attempts, since: undefined }
}
