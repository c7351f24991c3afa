import type { WorkerStats } from '../../../model/stats.ts'
import { cutText } from '../../shared/cut-text.ts'
import type { Connection } from '../connection.ts'

// A slot says what it runs when it begins to; a lease says who has it.
const LIST = `
  select w.worker_id, (extract(epoch from max(w.beat_at)) * 1000)::bigint as beat_at,
         coalesce(json_agg(json_build_object(
                    'eventId', r.event_id, 'source', e.source, 'type', left(e.type, 1025), 'attempt', r.attempt,
                    'since', (extract(epoch from w.running_since) * 1000)::bigint)
                  order by r.event_id) filter (where r.event_id is not null), '[]') as running,
         (select coalesce(json_agg(json_build_object('eventId', q.event_id, 'source', e.source,
                                                     'type', left(e.type, 1025), 'attempt', q.attempts, 'since', null)
                                   order by q.event_id), '[]')
            from {schema}.queue q
            left join {schema}.events e on e.id = q.event_id
           where q.lease_worker = w.worker_id and q.lease_token is not null) as leased
    from {schema}.workers w
    left join lateral unnest(w.running, w.running_attempts) as r (event_id, attempt) on true
    left join {schema}.events e on e.id = r.event_id
   group by w.worker_id
   order by w.worker_id`

/** Those that have a record, and what they run. */
export async function listWorkers(connection: Connection): Promise<readonly WorkerStats[]> {
  const { rows } = await connection.query<'worker_id' | 'beat_at' | 'running' | 'leased'>(LIST)
  return rows.map(({ worker_id, beat_at, running, leased }) => ({
    workerId: worker_id ?? '',
    beatAt: new Date(Number(beat_at)),
    running: [...parse(running), ...parse(leased)].map(({ since, source, type, ...event }) => ({
      ...event,
      source: source ?? '',
      type: cutText(type ?? ''),
      since: since === null ? undefined : new Date(since),
    })),
  }))
}

interface RunningRow {
  readonly eventId: string
  readonly source: string | null
  readonly type: string | null
  readonly attempt: number
  readonly since: number | null
}

function parse(text: string | null): readonly RunningRow[] {
  return JSON.parse(text ?? '[]') as RunningRow[]
}
