/**
 * Removes bulks for which nothing was done for long enough: they have ended, were aborted, or were left lying.
 *
 * One bulk may have 100,000 events, so that it goes in several steps. The first of them takes it out of sight: what is
 * left of it is neither found nor run.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import type { PruneRequest } from './prune-payloads.ts'

// 1 before
const FIND = `
  select id
    from {prefix}bulks b
   where state = 'pruned'
      or (created_at < ?1
          and not exists (select 1 from {prefix}bulk_events e where e.bulk_id = b.id and e.acted_at >= ?1))
   order by id
   limit 1`

// 1 bulk
const HIDE = `
  update {prefix}bulks set state = 'pruned' where id = ?`

// 1 bulk  2 limit
const DELETE_EVENTS = `
  delete from {prefix}bulk_events
   where bulk_id = ?1
     and event_id in (select event_id
                        from {prefix}bulk_events
                       where bulk_id = ?1
                       order by event_id
                       limit ?2)`

// 1 bulk
const DELETE = `
  delete from {prefix}bulks where id = ?`

/** Inside a write transaction. What was removed is not met again, so that each step begins at the oldest. */
export function pruneBulks(connection: Connection, { limits, most }: PruneRequest): PruneStep {
  const [old] = connection.all<{ id: string }>(FIND, [limits.audit])
  if (old === undefined) return { removed: { bulks: 0 }, next: undefined, isBusy: false }
  connection.run(HIDE, [old.id])
  const isLast = connection.run(DELETE_EVENTS, [old.id, most]) < most
  const bulks = isLast ? connection.run(DELETE, [old.id]) : 0
  return { removed: { bulks }, next: lowestId, isBusy: false }
}
