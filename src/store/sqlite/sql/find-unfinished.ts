/**
 * What earlier processes have left. Each question ends after so many rows.
 *
 * @module
 */

import type { LeftRunning, UncertainMessages } from '../../../model/unfinished.ts'
import type { Count } from '../../../model/stats.ts'
import type { UnfinishedFound, UnfinishedQuery } from '../../contract/stats.ts'
import type { Connection } from '../connection.ts'
import { isGone } from '../process-identity.ts'

const NOW = `cast(unixepoch('subsec') * 1000 as integer)`

// 1 limit
//
// What a worker's record lists counts only while it is queued: a record is written when a group begins, and not when
// it ends.
const LIST_HELD = `
  with leased as materialized (
         select lease_worker as worker_id
           from {prefix}queue
          where lease_token is not null
          limit ?),
       listed as (
         select w.worker_id
           from {prefix}workers w, json_each(w.running) r
          where exists (select 1
                          from {prefix}queue q
                         where q.event_id = r.value ->> 'eventId'
                           and q.attempts + 1 = r.value ->> 'attempt' and q.parked is null))
  select h.worker_id, count(*) as events, ${NOW} - b.beat_at as silent_ms, b.hostname, b.pid
    from (select worker_id from leased union all select worker_id from listed) h
    left join (select worker_id, max(beat_at) as beat_at, hostname, pid
                 from {prefix}workers
                group by worker_id) b on b.worker_id = h.worker_id
   group by h.worker_id
   order by h.worker_id`

// 1 limit, one more than may be counted
//
// The number of those that were looked at stands beside each.
const COUNT_MESSAGES = `
  with queued as materialized (
         select destination, uncertain_since is not null
                             or lease_token is not null and send_at <= ${NOW} as is_uncertain
           from {prefix}message_queue
          limit ?1),
       unknown as materialized (
         select message_id
           from {prefix}message_outcomes
          where state = 'unknown' and state in ('dead', 'unknown')
          limit ?1)
  select destination, 'uncertain' as state, count(*) as count, (select count(*) from queued) as looked
    from queued
   where is_uncertain
   group by destination
   union all
  select m.destination, 'unknown', count(*), (select count(*) from unknown)
    from unknown
    join {prefix}messages m on m.id = unknown.message_id
   group by m.destination
   order by 1, 2`

// 1 limit, one more than may be counted
const COUNT_LANES = `
  with waiting as materialized (
         select 1
           from {prefix}queue
          where parked = 'waiting' and parked is not null
          limit ?1),
       blocks as materialized (
         select lane_id, event_id, run
           from {prefix}lane_blocks
          limit ?1),
       blocked as (
         select distinct b.lane_id
           from blocks b
          where exists (select 1
                          from {prefix}outcomes o
                         where o.event_id = b.event_id and o.run = b.run and o.state = 'dead')),
       numbered as materialized (
         select lane_id
           from {prefix}queue
          where parked = 'waiting' and number is not null
          limit ?1),
       gaps as (
         select distinct n.lane_id
           from numbered n
           join {prefix}lanes l on l.lane_id = n.lane_id
          where l.paused_at is null
            and not exists (select 1
                              from {prefix}queue a
                             where a.lane_id = n.lane_id and a.lane_id is not null and a.parked is not 'waiting')
            and not exists (select 1
                              from {prefix}queue q
                             where q.lane_id = n.lane_id and q.parked = 'waiting' and q.number is not null
                               and q.number = l.next))
  select ${NOW} as now, (select count(*) from waiting) as waiting, (select count(*) from blocks) as blocks,
         (select count(*) from blocked) as blocked, (select count(*) from numbered) as numbered,
         (select count(*) from gaps) as gaps`

/** What earlier processes have left, or what does not go on by itself. */
export function findUnfinished(
  connection: Connection,
  { most, silentMs }: UnfinishedQuery,
): UnfinishedFound {
  const [lanes] = connection.all<LanesRow>(COUNT_LANES, [most + 1])
  const { now, waiting, blocks, blocked, numbered, gaps } = lanes as LanesRow
  const countOf = (count: number, lookedAt: number): Count => ({
    count: Math.min(count, most),
    isExact: lookedAt <= most,
  })
  return {
    at: new Date(now),
    leftRunning: connection
      .all<HeldRow>(LIST_HELD, [most + 1])
      .filter((row) => isLeft(row, silentMs))
      .map(asLeftRunning),
    messages: connection
      .all<MessagesRow>(COUNT_MESSAGES, [most + 1])
      .map((row) => asUncertain(row, most)),
    lanes: {
      waiting: countOf(waiting, waiting),
      blocked: countOf(blocked, blocks),
      gaps: countOf(gaps, numbered),
    },
    wentBack: undefined,
  }
}

/** Of a process of this machine it is known at once. */
function isLeft({ silent_ms, hostname, pid }: HeldRow, silentMs: number): boolean {
  if (silent_ms === null || hostname === null || pid === null) return true
  return silent_ms > silentMs || isGone({ hostname, pid })
}

function asLeftRunning({ worker_id, events, silent_ms }: HeldRow): LeftRunning {
  return { workerId: worker_id, events, silentMs: silent_ms ?? undefined }
}

function asUncertain(
  { destination, state, count, looked }: MessagesRow,
  most: number,
): UncertainMessages {
  return { destination, state, count, isExact: looked <= most }
}

type HeldRow = {
  worker_id: string
  events: number
  silent_ms: number | null
  hostname: string | null
  pid: number | null
}

type MessagesRow = {
  destination: string
  state: 'uncertain' | 'unknown'
  count: number
  looked: number
}

type LanesRow = {
  now: number
  waiting: number
  blocks: number
  blocked: number
  numbered: number
  gaps: number
}
