/**
 * Removes what operators did long enough ago. Its rows are numbered as they were written, so the oldest come first.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import { lowestId } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import type { PruneRequest } from './prune-payloads.ts'

// 1 limit  2 done before
const DELETE = `
  delete from {prefix}audit
   where id in (select id from {prefix}audit order by id limit ?)
     and acted_at < ?`

/** Inside a write transaction. What was removed is not met again, so that each step begins at the oldest. */
export function pruneAudit(connection: Connection, { limits, most }: PruneRequest): PruneStep {
  const audit = connection.run(DELETE, [most, limits.audit])
  return { removed: { audit }, next: audit === most ? lowestId : undefined, isBusy: false }
}
