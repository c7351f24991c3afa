import type { RunningStats, WorkerStats } from '../../../model/stats.ts'
import { cutText } from '../../shared/cut-text.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'

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

// 1 events, as JSON
const LIST_EVENTS = `
  select id, source, substr(cast(type as blob), 1, 4100) as type
    from {prefix}events
   where id in (select value from json_each(?))`

/** Those that have a record, and what they run. */
export function listWorkers(connection: Connection): readonly WorkerStats[] {
  const slots = connection.all<SlotRow>(LIST)
  const running = [
    ...slots.flatMap(listRunning),
    ...connection.all<LeasedRow>(LIST_LEASED).map(asRunning),
  ]
  const events = findEvents(connection, running)
  return [...new Set(slots.map(({ worker_id }) => worker_id))].map((workerId) => ({
    workerId,
    beatAt: new Date(
      Math.max(...slots.filter((slot) => slot.worker_id === workerId).map((slot) => slot.beat_at)),
    ),
    running: running
      .filter((each) => each.workerId === workerId)
      .map(({ eventId, attempt, since }): RunningStats => {
        const { source = '', type = '' } = events.get(eventId) ?? {}
        return { eventId, source, type, attempt, since }
      }),
  }))
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

interface RunningEvent extends Pick<RunningStats, 'eventId' | 'attempt' | 'since'> {
  readonly workerId: string
}

function listRunning({ worker_id, running, running_since }: SlotRow): readonly RunningEvent[] {
  const since = running_since === null ? undefined : new Date(running_since)
  const list = JSON.parse(running) as readonly Pick<RunningStats, 'eventId' | 'attempt'>[]
  return list.map(({ eventId, attempt }) => ({ workerId: worker_id, eventId, attempt, since }))
}

function asRunning({ worker_id, event_id, attempts }: LeasedRow): RunningEvent {
  return { workerId: worker_id, eventId: event_id, attempt: attempts, since: undefined }
}

function findEvents(
  connection: Connection,
  running: readonly RunningEvent[],
): ReadonlyMap<string, { readonly source: string; readonly type: string }> {
  type Row = { id: string; source: string; type: Uint8Array }
  const ids = JSON.stringify(running.map(({ eventId }) => eventId))
  const rows = connection.all<Row>(LIST_EVENTS, [ids])
  return new Map(
    rows.map(({ id, source, type }) => [id, { source, type: cutText(decodeText(type)) }]),
  )
}
