/**
 * What earlier processes have left, in one statement. Each of its parts ends after so many rows.
 *
 * @module
 */

import type { Count } from '../../../model/stats.ts'
import type { UnfinishedFound, UnfinishedQuery } from '../../contract/stats.ts'
import type { Connection } from '../connection.ts'
import { findHistory } from './keep-history.ts'

// $1 limit  $2 how long a worker may be silent, in ms
//
// One more than the limit is looked at, to tell whether there are more. What a worker's record lists counts only while
// it is queued: a record is written when a group begins, and not when it ends.
const FIND = `
  with leased as materialized (
         select lease_worker as worker_id, 1 as held
           from {schema}.queue
          where lease_token is not null
          limit $1::integer + 1),
       listed as (
         select w.worker_id, 1 as held
           from {schema}.workers w
          cross join lateral unnest(w.running, w.running_attempts) as r (event_id, attempt)
          where exists (select
                          from {schema}.queue q
                         where q.event_id = r.event_id and q.attempts + 1 = r.attempt and q.parked is null)),
       hearts as (
         select worker_id, max(beat_at) as beat_at
           from {schema}.workers
          group by worker_id),
       held as (
         select h.worker_id, count(*) as events,
                (extract(epoch from clock_timestamp() - b.beat_at) * 1000)::bigint as silent_ms
           from (select * from leased union all select * from listed) h
           left join hearts b on b.worker_id = h.worker_id
          where b.beat_at is null or b.beat_at < clock_timestamp() - $2::float8 * interval '1 millisecond'
          group by h.worker_id, b.beat_at),
       queued as materialized (
         select destination, uncertain_since is not null
                             or lease_token is not null and send_at <= clock_timestamp() as is_uncertain
           from {schema}.message_queue
          limit $1::integer + 1),
       unknown as materialized (
         select message_id
           from {schema}.message_outcomes
          where state = 'unknown' and state in ('dead', 'unknown')
          limit $1::integer + 1),
       messages as (
         select destination, 'uncertain' as state, count(*) as count, (select count(*) from queued) <= $1 as is_exact
           from queued
          where is_uncertain
          group by destination
          union all
         select m.destination, 'unknown', count(*), (select count(*) from unknown) <= $1
           from unknown
           join {schema}.messages m on m.id = unknown.message_id
          group by m.destination),
       waiting as materialized (
         select 1
           from {schema}.queue
          where parked = 'waiting' and parked is not null
          limit $1::integer + 1),
       blocks as materialized (
         select lane_id, event_id, run
           from {schema}.lane_blocks
          limit $1::integer + 1),
       blocked as (
         select distinct b.lane_id
           from blocks b
          where exists (select
                          from {schema}.outcomes o
                         where o.event_id = b.event_id and o.run = b.run and o.state = 'dead')),
       numbered as materialized (
         select lane_id
           from {schema}.queue
          where parked = 'waiting' and number is not null
          limit $1::integer + 1),
       gaps as (
         select distinct n.lane_id
           from numbered n
           join {schema}.lanes l on l.lane_id = n.lane_id
          where l.paused_at is null
            and not exists (select
                              from {schema}.queue a
                             where a.lane_id = n.lane_id and a.lane_id is not null and a.parked is distinct from 'waiting')
            and not exists (select
                              from {schema}.queue q
                             where q.lane_id = n.lane_id and q.parked = 'waiting' and q.number is not null
                               and q.number = l.next))
  select json_build_object(
           'nowMs', (extract(epoch from clock_timestamp()) * 1000)::bigint,
           'held', (select coalesce(json_agg(held order by worker_id), '[]') from held),
           'messages', (select coalesce(json_agg(messages order by destination, state), '[]') from messages),
           'waiting', (select count(*) from waiting),
           'blocks', (select count(*) from blocks),
           'blocked', (select count(*) from blocked),
           'numbered', (select count(*) from numbered),
           'gaps', (select count(*) from gaps)) as found`

/** A join by hash or by order would read all of the queue to look at a few rows of it. */
const BY_LOOPS = `
  select pg_catalog.set_config('enable_hashjoin', 'off', true), pg_catalog.set_config('enable_mergejoin', 'off', true)`

/** What earlier processes have left, or what does not go on by itself. Inside a transaction. */
export async function findUnfinished(
  connection: Connection,
  { most, silentMs }: UnfinishedQuery,
): Promise<UnfinishedFound> {
  await connection.query(BY_LOOPS)
  const { rows } = await connection.query<'found'>(FIND, [most, silentMs])
  const found = JSON.parse(rows[0]?.found ?? '') as Found
  const countOf = (count: number, lookedAt: number): Count => ({
    count: Math.min(count, most),
    isExact: lookedAt <= most,
  })
  return {
    at: new Date(found.nowMs),
    leftRunning: found.held.map(({ worker_id, events, silent_ms }) => ({
      workerId: worker_id,
      events,
      silentMs: silent_ms ?? undefined,
    })),
    messages: found.messages.map(({ destination, state, count, is_exact }) => ({
      destination,
      state,
      count,
      isExact: is_exact,
    })),
    lanes: {
      waiting: countOf(found.waiting, found.waiting),
      blocked: countOf(found.blocked, found.blocks),
      gaps: countOf(found.gaps, found.numbered),
    },
    wentBack: (await findHistory(connection))?.wentBack,
  }
}

interface Found {
  readonly nowMs: number
  readonly held: readonly {
    readonly worker_id: string
    readonly events: number
    readonly silent_ms: number | null
  }[]
  readonly messages: readonly {
    readonly destination: string
    readonly state: 'uncertain' | 'unknown'
    readonly count: number
    readonly is_exact: boolean
  }[]
  readonly waiting: number
  readonly blocks: number
  readonly blocked: number
  readonly numbered: number
  readonly gaps: number
}
