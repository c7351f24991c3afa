import type { PruneLimits, PrunePart, PruneStep, RetentionStore } from '../contract/retention.ts'
import { lowestId } from '../../model/id-range.ts'
import type { Connections } from './connections.ts'
import { findStateBehind } from './store-error.ts'
import { atMostOnce } from './act-on-event.ts'
import { dropPartitions } from './sql/drop-partitions.ts'
import { weekBefore } from './sql/ensure-partitions.ts'
import { findPolicy, keepPolicy } from './sql/keep-policy.ts'
import { beginOrdered, noteRun } from './sql/note-run.ts'
import { PRUNE_AUDIT } from './sql/prune-audit.ts'
import { PRUNE_BESIDE } from './sql/prune-beside.ts'
import { PRUNE_BULKS } from './sql/prune-bulks.ts'
import { PRUNE_DEAD } from './sql/prune-dead.ts'
import { PRUNE_KEYS } from './sql/prune-keys.ts'
import { PRUNE_LANES } from './sql/prune-lanes.ts'
import { PRUNE_MESSAGES } from './sql/prune-messages.ts'
import { PRUNE_PAYLOADS } from './sql/prune-payloads.ts'
import { findLastRun, surveyPrune } from './sql/survey-prune.ts'
import type { TransactionSettings } from './transaction.ts'

/** How many rows one step looks at: some tens of milliseconds, for which it holds what it deletes. */
const STEP_ROWS = 500
/** Counting takes as long as the tables are large; nothing waits for it. */
const COUNTING: TransactionSettings = { statementTimeoutMs: 600_000, lockTimeoutMs: 5_000 }
const STEPPING: TransactionSettings = { statementTimeoutMs: 60_000, lockTimeoutMs: 1_000 }

const STEPS: Readonly<Record<PrunePart, string>> = {
  dead: PRUNE_DEAD,
  payloads: PRUNE_PAYLOADS,
  ...PRUNE_BESIDE,
  messages: PRUNE_MESSAGES,
  audit: PRUNE_AUDIT,
  bulks: PRUNE_BULKS,
  keys: PRUNE_KEYS,
  lanes: PRUNE_LANES,
}

/** The part of the store that forgets. */
export function createRetention(connections: Connections): RetentionStore {
  return {
    survey: (limits) =>
      connections.transact((connection) => surveyPrune(connection, inWeeks(limits)), COUNTING),
    dropPartitions: (limits) => dropPartitions(connections, limits),
    prune: (part, limits, after) => pruneStep(connections, STEPS[part], { limits, after }),
    findLastRun: async () => {
      const { nowMs, last } = await connections.use(findLastRun)
      return { nowMs, lastMs: last.atMs }
    },
    keepPolicy: (policy) => connections.transact((connection) => keepPolicy(connection, policy)),
    findPolicy: () => connections.use(findPolicy),
    beginOrdered: (order) =>
      atMostOnce(() => connections.transact((connection) => beginOrdered(connection, order))),
    noteRun: (run, ordered) =>
      connections.transact((connection) => noteRun(connection, run, ordered)),
  }
}

/** Payloads leave with their week, so their limits are Mondays. */
function inWeeks(limits: PruneLimits): PruneLimits {
  const { done, skipped, discarded } = limits
  return {
    ...limits,
    done: done === null ? null : weekBefore(done),
    skipped: skipped === null ? null : weekBefore(skipped),
    discarded: discarded === null ? null : weekBefore(discarded),
  }
}

/** What is in the way is left to the next run: another pruner, or a transaction that holds what we need. */
async function pruneStep(
  connections: Connections,
  text: string,
  { limits, after }: { readonly limits: PruneLimits; readonly after: string | undefined },
): Promise<PruneStep> {
  try {
    const { rows } = await connections.transact(
      (connection) =>
        connection.query<'step'>(text, [JSON.stringify(limits), after ?? lowestId, STEP_ROWS]),
      STEPPING,
    )
    const step = JSON.parse(rows[0]?.step ?? '') as Pick<PruneStep, 'removed'> & {
      readonly next: string | null
    }
    return { removed: step.removed, next: step.next ?? undefined, isBusy: false }
  } catch (error) {
    if (findStateBehind(error) !== '55P03') throw error
    return { removed: {}, next: undefined, isBusy: true }
  }
}
