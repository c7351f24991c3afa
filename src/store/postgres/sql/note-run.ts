import type { Ordered } from '../../contract/operators.ts'
import type {
  OrderedRun,
  OrderedRunBegun,
  PruneCounts,
  PruneRun,
} from '../../contract/retention.ts'
import { ORDERED_PRUNE } from '../../shared/deed.ts'
import type { Connection } from '../connection.ts'
import { addAudit, endAudit, findAudit } from './audit.ts'

/** Writes down that a person wants a run, before it removes anything. Inside a transaction of the caller. */
export async function beginOrdered(
  connection: Connection,
  order: Ordered,
): Promise<OrderedRunBegun> {
  const found = await findAudit(connection, ORDERED_PRUNE, order.token)
  if (found === undefined)
    return {
      status: 'begun',
      auditId: await addAudit(connection, ORDERED_PRUNE, order, { status: 'begun' }),
    }
  if (!('auditId' in found)) return found
  const { auditId, outcome } = found
  if (outcome['status'] !== 'done') return { status: 'begun', auditId }
  return { status: 'done', removed: outcome['removed'] as PruneCounts }
}

// $1 the run, as JSON
const NOTE = `
  update {schema}.meta
     set value = $1
   where name = 'prune'`

/** Writes down that a run of the pruner has ended, and what it did for a person. */
export async function noteRun(
  connection: Connection,
  run: PruneRun,
  ordered: OrderedRun | undefined,
): Promise<void> {
  await connection.query(NOTE, [JSON.stringify(run)])
  if (ordered === undefined) return
  const { auditId, removed } = ordered
  await endAudit(connection, auditId, { status: 'done', removed })
}
