/**
 * Steps that tests of retention take again and again. No test waits for a month: what is asked is what a run would
 * do so many days from now.
 *
 * @module
 */

import { RETENTION_DEFAULTS } from '../../../retention/options.ts'
import type { RetentionPolicy } from '../../../retention/options.ts'
import { limitsAt } from '../../../retention/limits.ts'
import { NOTHING_REMOVED } from '../../../retention/prune.ts'
import { PRUNE_PARTS } from '../../../store/contract/retention.ts'
import type { PruneCounts, PruneLimits, PruneStep } from '../../../store/contract/retention.ts'
import type { AnyStore } from '../store-case.ts'

const DAY_MS = 86_400_000

/** The limits of a run in so many days. */
export function limitsIn(days: number, policy: Partial<RetentionPolicy> = {}): PruneLimits {
  return limitsAt({ ...RETENTION_DEFAULTS, ...policy }, Date.now() + days * DAY_MS)
}

/** Every step of a run, row by row: no partition is dropped. */
export async function pruneRows(
  store: Pick<AnyStore, 'retention'>,
  limits: PruneLimits,
): Promise<PruneCounts> {
  let removed = NOTHING_REMOVED
  for (const part of PRUNE_PARTS) {
    let after: string | undefined
    do {
      const step = await store.retention.prune(part, limits, after)
      removed = add(removed, step)
      after = step.next
    } while (after !== undefined)
  }
  return removed
}

function add(counts: PruneCounts, { removed }: PruneStep): PruneCounts {
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [
      name,
      Number(count) + (removed[name as keyof PruneCounts] ?? 0),
    ]),
  ) as unknown as PruneCounts
}
