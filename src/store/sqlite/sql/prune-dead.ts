/**
 * Discards events that have been dead for long. They can then no longer be retried, by an operator or by the sender,
 * and are pruned like any other that was discarded.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import type { Connection } from '../connection.ts'
import type { PruneRequest } from './prune-payloads.ts'

// 1 dead before  2 limit
const DISCARD = `
  update {prefix}outcomes
     set state = 'discarded'
   where (event_id, run) in (select event_id, run
                               from {prefix}outcomes
                              where state = 'dead' and settled_at < ?
                              limit ?)`

/** Inside a write transaction. */
export function pruneDead(connection: Connection, { limits, most }: PruneRequest): PruneStep {
  const discarded = limits.dead === null ? 0 : connection.run(DISCARD, [limits.dead, most])
  return {
    removed: { discarded },
    // What was discarded is not found again, so that the next step begins where this one did.
    next: discarded < most ? undefined : 'more',
    isBusy: false,
  }
}
