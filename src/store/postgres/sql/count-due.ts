/**
 * What is due, and since when. The oldest is found by one probe of an index for each topic, however many events wait.
 *
 * @module
 */

import type { DueCount } from '../../contract/stats.ts'
import type { Connection } from '../connection.ts'

/** What each partial index of the queue has. */
const KINDS = {
  fresh: 'parked is null and attempts = 0 and crashes = 0 and not leasable',
  again: 'parked is null and attempts > 0 and crashes = 0 and not leasable',
  leasable: 'parked is null and leasable and lease_token is null',
  suspect: 'parked is null and crashes > 0 and not leasable',
} as const

const topics = (kind: keyof typeof KINDS): string => `
       ${kind} as (
         select (select min(topic) from {schema}.queue where ${KINDS[kind]}) as topic
          union all
         select (select min(q.topic) from {schema}.queue q where ${KINDS[kind]} and q.topic > ${kind}.topic)
           from ${kind}
          where topic is not null)`

const oldest = (kind: keyof typeof KINDS): string => `
         select (select min(run_at) from {schema}.queue q where ${KINDS[kind]} and q.topic = ${kind}.topic) as run_at
           from ${kind}`

const some = (kind: keyof typeof KINDS): string => `
         (select run_at from {schema}.queue where ${KINDS[kind]} limit $1)`

// $1 limit
const COUNT = `
  with recursive ${topics('fresh')},${topics('again')},${topics('leasable')},
       oldest as (${oldest('fresh')}
          union all ${oldest('again')}
          union all ${oldest('leasable')}
          union all
         select min(run_at) from {schema}.queue where ${KINDS.suspect}),
       looked as (
         select *
           from (${some('fresh')}
          union all ${some('again')}
          union all ${some('leasable')}
          union all ${some('suspect')}) waiting
          limit $1)
  select (select count(*) from looked) as looked_at,
         (select count(*) from looked where run_at <= clock_timestamp()) as due,
         (extract(epoch from (select min(run_at)
                                from oldest
                               where run_at <= clock_timestamp())) * 1000)::bigint as oldest_at`

export async function countDue(connection: Connection, most: number): Promise<DueCount> {
  const { rows } = await connection.query<'looked_at' | 'due' | 'oldest_at'>(COUNT, [most])
  const [row] = rows
  return {
    due: Number(row?.due),
    lookedAt: Number(row?.looked_at),
    oldestDueAt: row?.oldest_at == null ? undefined : new Date(Number(row.oldest_at)),
  }
}
