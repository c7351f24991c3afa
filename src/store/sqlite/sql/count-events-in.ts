/**
 * How many events are in a place, by source: the first so many of them, and no more.
 *
 * @module
 */

import type { CountedPlace, IdRange, PlaceCount } from '../../contract/stats.ts'
import type { Connection } from '../connection.ts'

const RUNNING = `
         select r.value ->> 'eventId' as event_id
           from {prefix}workers w, json_each(w.running) r
          union
         select event_id
           from {prefix}queue
          where lease_token is not null`

// 1 limit  2 state, where the place has one
//
// `done` has no index, since nearly every event is: it is counted among the newest outcomes.
// An event of which another run waits, or has come to rest since, is counted where that one is.
const count = (looked: string, isLatest: string): string => `
  with looked as materialized (${looked}
          limit ?1)
  select coalesce(e.source, '') as source, count(e.id) as found, (select count(*) from looked) as looked_at
    from looked
    left join {prefix}events e on e.id = looked.event_id and ${isLatest}
   group by 1`

const IS_AT_REST = `
         (select count(*) from {prefix}queue q where q.event_id = looked.event_id) = 0
         and looked.run = (select max(run) from {prefix}outcomes later where later.event_id = looked.event_id)`

const COUNT = {
  // Each part is what one partial index has.
  ready: count(
    `
         select * from (select event_id, run from {prefix}queue
           where parked is null and attempts = 0 and crashes = 0 and leasable = 0 limit ?1)
          union all
         select * from (select event_id, run from {prefix}queue
           where parked is null and attempts > 0 and crashes = 0 and leasable = 0 limit ?1)
          union all
         select * from (select event_id, run from {prefix}queue
           where parked is null and crashes > 0 and leasable = 0 limit ?1)
          union all
         select * from (select event_id, run from {prefix}queue
           where parked is null and leasable = 1 and lease_token is null limit ?1)`,
    `looked.event_id not in (${RUNNING})`,
  ),
  running: count(
    RUNNING,
    `exists (select 1 from {prefix}queue q where q.event_id = looked.event_id)`,
  ),
  done: count(
    `
         select event_id, run, state
           from {prefix}outcomes
          order by event_id desc`,
    `looked.state = 'done' and ${IS_AT_REST}`,
  ),
  parked: count(
    `
         select event_id, run
           from {prefix}queue
          where parked = ?2 and parked is not null`,
    'true',
  ),
  settled: count(
    `
         select event_id, run
           from {prefix}outcomes
          where state = ?2 and state <> 'done'`,
    IS_AT_REST,
  ),
} as const

export function countEventsIn(
  connection: Connection,
  place: CountedPlace,
  most: number,
): PlaceCount {
  if (typeof place === 'string') return read(connection, COUNT[place], [most])
  return 'parked' in place
    ? read(connection, COUNT.parked, [most, place.parked])
    : read(connection, COUNT.settled, [most, place.settled])
}

// 1 from  2 below  3 limit
const COUNT_RECEIVED = `
  select '' as source, count(*) as found, count(*) as looked_at
    from (select 1
            from {prefix}events
           where id >= ?1 and id < ?2
           limit ?3) looked`

// 1 from  2 below  3 limit  4 source
const COUNT_RECEIVED_OF_SOURCE = `
  select ?4 as source, count(*) filter (where source = ?4) as found, count(*) as looked_at
    from (select source
            from {prefix}events
           where id >= ?1 and id < ?2
           limit ?3) looked`

export function countReceived(
  connection: Connection,
  { from, below }: IdRange,
  source: string | undefined,
  most: number,
): PlaceCount {
  return source === undefined
    ? read(connection, COUNT_RECEIVED, [from, below, most])
    : read(connection, COUNT_RECEIVED_OF_SOURCE, [from, below, most, source])
}

function read(connection: Connection, sql: string, values: readonly unknown[]): PlaceCount {
  const rows = connection.all<{ source: string; found: number; looked_at: number }>(sql, values)
  return {
    lookedAt: rows[0]?.looked_at ?? 0,
    bySource: rows
      .map(({ source, found }) => ({ source, count: found }))
      .filter(({ count: found }) => found > 0),
  }
}
