/**
 * Says which topics have something due, and when the next event of any topic will be. As on PostgreSQL it steps
 * from one topic to the next, and leaves out what a worker's record lists as running.
 *
 * @module
 */

import type { DueKind, Look, LookRequest } from '../../contract/queue.ts'
import { summarizeLook } from '../../shared/summarize-look.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { DUE } from './claim-group.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 the topic after which to look
const first = (kind: DueKind): string => `
  select q.topic, q.run_at, e.source, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where ${DUE[kind]}
     and q.topic > ?
     and (q.event_id, q.attempts + 1) not in
         (select r.value ->> 'eventId', r.value ->> 'attempt'
            from {prefix}workers w, json_each(w.running) r)
   order by q.topic, q.run_at, q.event_id
   limit 1`

const FIRST: Readonly<Record<DueKind, string>> = {
  fresh: first('fresh'),
  head: first('head'),
  again: first('again'),
  suspect: first('suspect'),
  leasable: first('leasable'),
}

const LATER = `
  select min(run_at) - ${NOW} as later_in_ms, ${NOW} as now
    from {prefix}queue
   where parked is null
     and attempts > 0
     and lease_token is null
     and run_at > ${NOW}`

// As on PostgreSQL, the end of what an event waits for in its lane counts as well.
const DEADLINE = `
  select max(wait_until - ${NOW}, 1) as deadline_in_ms
    from {prefix}queue
   where parked = 'waiting'
     and wait_until is not null
   order by wait_until
   limit 1`

export function look(connection: Connection, { after, limit }: LookRequest): Look {
  const [times] = connection.all<{ later_in_ms: number | null; now: number }>(LATER)
  const found = (['fresh', 'head', 'again', 'leasable', 'suspect'] as const).flatMap((kind) =>
    listTopics(connection, kind, { after, limit }).map((row) => ({
      kind,
      topic: row.topic,
      source: row.source,
      type: decodeText(row.type),
      dueInMs: row.run_at - (times?.now ?? 0),
    })),
  )
  const [deadline] = connection.all<{ deadline_in_ms: number }>(DEADLINE)
  const laterInMs = Math.min(times?.later_in_ms ?? Infinity, deadline?.deadline_in_ms ?? Infinity)
  return summarizeLook(found, laterInMs, limit)
}

function listTopics(connection: Connection, kind: DueKind, { after, limit }: LookRequest): Row[] {
  const rows: Row[] = []
  for (let last = after; rows.length < limit;) {
    const [row] = connection.all<Row>(FIRST[kind], [last])
    if (row === undefined) break
    rows.push(row)
    last = row.topic
  }
  return rows
}

type Row = { topic: number; run_at: number; source: string; type: Uint8Array }
