/**
 * Forgets lanes in which nothing has happened for as long as keys are kept. What that means is said in the file of the
 * same name for PostgreSQL.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import { USED_GRAIN_MS } from './mend-lanes.ts'
import type { PruneRequest } from './prune-payloads.ts'

// 1 used before  2 after lane  3 limit
const PAGE = `
  select l.lane_id,
         l.paused_at is null
         and l.used_at < ?
         and not exists (select 1 from {prefix}queue q
                          where q.lane_id = l.lane_id and q.lane_id is not null and q.parked is not 'waiting')
         and not exists (select 1 from {prefix}queue q where q.lane_id = l.lane_id and q.parked = 'waiting')
         and not exists (select 1 from {prefix}lane_blocks b where b.lane_id = l.lane_id) as goes
    from {prefix}lanes l
   where l.lane_id > ?
   order by l.lane_id
   limit ?`

// 1 lanes, as JSON
const DELETE_FACTS = `
  delete from {prefix}lane_facts
   where lane_id in (select value from json_each(?))`

// 1 lanes, as JSON
const DELETE_LANES = `
  delete from {prefix}lanes
   where lane_id in (select value from json_each(?))`

/** Inside a write transaction. */
export function pruneLanes(
  connection: Connection,
  { limits, after, most }: PruneRequest,
): PruneStep {
  const before = limits.keys === null ? null : limits.keys - USED_GRAIN_MS
  const page = connection.all<{ lane_id: string; goes: number | null }>(PAGE, [
    before,
    after ?? lowestId,
    most,
  ])
  const lanes = JSON.stringify(page.filter(({ goes }) => goes === 1).map(({ lane_id }) => lane_id))
  connection.run(DELETE_FACTS, [lanes])
  return {
    removed: { lanes: connection.run(DELETE_LANES, [lanes]) },
    next: page.length < most ? undefined : page.at(-1)?.lane_id,
    isBusy: false,
  }
}
