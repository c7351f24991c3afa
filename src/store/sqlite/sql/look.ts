/**
 * Says which topics have something due, and when the next event of any topic will be. As on PostgreSQL it steps
 * from one topic to the next, and leaves out what a worker's record lists as running. With many topics it lets the
 * event loop go round in between, and sees several states one after the other: a look is a hint, and a claim finds out.
 *
 * @module
 */

import { LoopBreaks } from '../../../flow/loop-breaks.ts'
import type { DueKind, Look, LookRequest } from '../../contract/queue.ts'
import type { FoundTopic } from '../../shared/summarize-look.ts'
import { summarizeLook } from '../../shared/summarize-look.ts'
import type { Connection } from '../connection.ts'
import { decodeText } from '../decode-text.ts'
import { CLAIMABLE } from './claim-group.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 the topic after which to look
const first = (kind: DueKind): string => `
  select q.topic, q.run_at, e.source, cast(e.type as blob) as type
    from {prefix}queue q
    join {prefix}events e on e.id = q.event_id
   where ${CLAIMABLE[kind]}
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

// While one suspect runs no other can be claimed, however long it is due.
const IS_SUSPECT_RUNNING = `
  select 1 as found
    from {prefix}workers w, json_each(w.running) r
    join {prefix}queue s on s.event_id = r.value ->> 'eventId'
   where s.crashes > 0
     and s.attempts + 1 = r.value ->> 'attempt'
   limit 1`

const LATER = `
  select min(run_at) - ${NOW} as later_in_ms, ${NOW} as now
    from {prefix}queue
   where parked is null
     and attempts > 0
     and lease_token is null
     and run_at > ${NOW}`

// As on PostgreSQL, the end of what an event waits for in its lane counts as well.
const DEADLINE = `
  select max(wait_until - ${NOW}, 1000) as deadline_in_ms
    from {prefix}queue
   where parked = 'waiting'
     and wait_until is not null
   order by wait_until
   limit 1`

const KINDS = ['fresh', 'head', 'again', 'leasable', 'suspect'] as const

type Read = <Result>(work: (reader: Connection) => Result) => Promise<Result>

export async function look(
  read: Read,
  { after, limit, runsSuspect = false }: LookRequest,
): Promise<Look> {
  const breaks = new LoopBreaks()
  const { now, laterInMs } = await read(readTimes)
  const found: FoundTopic[] = []
  const isLocked = !runsSuspect && (await read(isSuspectRunning))
  const kinds = KINDS.filter((kind) => kind !== 'suspect' || !isLocked)
  for (const walk of kinds.map((kind) => ({ kind, last: after, left: limit })))
    while (walk.left > 0) {
      await breaks.take()
      await read((reader) => {
        while (walk.left > 0 && !breaks.isDue) step(reader, walk, { found, now })
      })
    }
  return summarizeLook(found, laterInMs, limit)
}

function readTimes(reader: Connection): { now: number; laterInMs: number } {
  const [times] = reader.all<{ later_in_ms: number | null; now: number }>(LATER)
  const [deadline] = reader.all<{ deadline_in_ms: number }>(DEADLINE)
  return {
    now: times?.now ?? 0,
    laterInMs: Math.min(times?.later_in_ms ?? Infinity, deadline?.deadline_in_ms ?? Infinity),
  }
}

function isSuspectRunning(reader: Connection): boolean {
  return reader.all(IS_SUSPECT_RUNNING).length > 0
}

interface Walk {
  readonly kind: DueKind
  /** The topic to which it has come. */
  last: number
  /** How many more topics it takes. */
  left: number
}

/** To the next topic, if there is one. */
function step(
  reader: Connection,
  walk: Walk,
  { found, now }: { readonly found: FoundTopic[]; readonly now: number },
): void {
  const [row] = reader.all<Row>(FIRST[walk.kind], [walk.last])
  walk.left = row === undefined ? 0 : walk.left - 1
  if (row === undefined) return
  walk.last = row.topic
  const { topic, source, run_at } = row
  const type = decodeText(row.type)
  found.push({ kind: walk.kind, topic, source, type, dueInMs: run_at - now })
}

type Row = { topic: number; run_at: number; source: string; type: Uint8Array }
