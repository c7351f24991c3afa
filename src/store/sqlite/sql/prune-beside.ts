/**
 * Removes what is kept beside an event: failed attempts, results of steps, counts of deliveries, runs. They may be kept for
 * a shorter time than its payload, and go with it at the latest.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import type { PruneRequest } from './prune-payloads.ts'

/** Runs have no time of their own: they go with the payload. */
export type BesidePart = 'attempts' | 'steps' | 'deliveries' | 'runs'

// 1 after event  2 limit  3 ended before
const pageOf = (part: BesidePart): string => `
  with page as materialized (
         select distinct event_id
           from {prefix}${part}
          where event_id > ?
          order by event_id
          limit ?)
  select b.event_id,
         not exists (select 1 from {prefix}queue q where q.event_id = b.event_id)
         and (not exists (select 1 from {prefix}events e where e.id = b.event_id)
              or exists (select 1
                           from {prefix}outcomes o
                          where o.event_id = b.event_id
                            and o.run = (select max(l.run) from {prefix}outcomes l where l.event_id = b.event_id)
                            and o.state <> 'dead' and o.settled_at < ?)) as goes
    from page b
   order by b.event_id`

// 1 events, as JSON
const deleteOf = (part: BesidePart): string => `
  delete from {prefix}${part} where event_id in (select value from json_each(?))`

const TEXTS = {
  attempts: { page: pageOf('attempts'), remove: deleteOf('attempts') },
  steps: { page: pageOf('steps'), remove: deleteOf('steps') },
  deliveries: { page: pageOf('deliveries'), remove: deleteOf('deliveries') },
  runs: { page: pageOf('runs'), remove: deleteOf('runs') },
}

/** Inside a write transaction. */
export function pruneBeside(
  connection: Connection,
  part: BesidePart,
  { limits, after, most }: PruneRequest,
): PruneStep {
  const { page: text, remove } = TEXTS[part]
  const page = connection.all<{ event_id: string; goes: number }>(text, [
    after ?? lowestId,
    most,
    part === 'runs' ? null : limits[part],
  ])
  const ids = page.filter(({ goes }) => goes === 1).map(({ event_id }) => event_id)
  return {
    removed: { [part]: connection.run(remove, [JSON.stringify(ids)]) },
    next: page.length < most ? undefined : page.at(-1)?.event_id,
    isBusy: false,
  }
}
