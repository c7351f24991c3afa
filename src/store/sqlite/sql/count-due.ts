/**
 * What is due, and since when. The oldest is found by one probe of an index for each topic, however many events wait.
 *
 * @module
 */

import type { DueCount } from '../../contract/stats.ts'
import type { Connection } from '../connection.ts'

const NOW = `cast(unixepoch('subsec') * 1000 as integer)`

/** What each partial index of the queue has. */
const KINDS = {
  fresh: 'parked is null and attempts = 0 and crashes = 0 and leasable = 0',
  again: 'parked is null and attempts > 0 and crashes = 0 and leasable = 0',
  leasable: 'parked is null and leasable = 1 and lease_token is null',
  suspect: 'parked is null and crashes > 0 and leasable = 0',
} as const

const topics = (kind: keyof typeof KINDS): string => `
       ${kind} as (
         select (select min(topic) from {prefix}queue where ${KINDS[kind]}) as topic
          union all
         select (select min(q.topic) from {prefix}queue q where ${KINDS[kind]} and q.topic > ${kind}.topic)
           from ${kind}
          where topic is not null)`

const oldest = (kind: keyof typeof KINDS): string => `
         select (select min(run_at) from {prefix}queue q where ${KINDS[kind]} and q.topic = ${kind}.topic) as run_at
           from ${kind}`

const some = (kind: keyof typeof KINDS): string => `
         select * from (select run_at from {prefix}queue where ${KINDS[kind]} limit ?1)`

// 1 limit
const COUNT = `
  with recursive ${topics('fresh')},${topics('again')},${topics('leasable')},
       oldest as (${oldest('fresh')}
          union all ${oldest('again')}
          union all ${oldest('leasable')}
          union all
         select min(run_at) from {prefix}queue where ${KINDS.suspect}),
       looked as (
         select *
           from (${some('fresh')}
          union all ${some('again')}
          union all ${some('leasable')}
          union all ${some('suspect')}) waiting
          limit ?1)
  select (select count(*) from looked) as looked_at,
         (select count(*) from looked where run_at <= ${NOW}) as due,
         (select min(run_at) from oldest where run_at <= ${NOW}) as oldest_at`

export function countDue(connection: Connection, most: number): DueCount {
  type DueRow = { looked_at: number; due: number; oldest_at: number | null }
  const [row] = connection.all<DueRow>(COUNT, [most])
  const oldestAt = row?.oldest_at ?? undefined
  return {
    due: row?.due ?? 0,
    lookedAt: row?.looked_at ?? 0,
    oldestDueAt: oldestAt === undefined ? undefined : new Date(oldestAt),
  }
}
