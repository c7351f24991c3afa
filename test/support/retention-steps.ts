/**
 * Steps that tests of retention take again and again. No test waits for a month: what is asked is what a run would
 * do so many days from now.
 *
 * @module
 */

import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'
import type { RetentionPolicy } from '../../src/retention/options.ts'
import { limitsAt } from '../../src/retention/limits.ts'
import { NOTHING_REMOVED } from '../../src/retention/prune.ts'
import { PRUNE_PARTS } from '../../src/store/contract/retention.ts'
import type { PruneCounts, PruneLimits, PruneStep } from '../../src/store/contract/retention.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { QueryTx } from './store-under-test.ts'

const DAY_MS = 86_400_000

/** The limits of a run in so many days. */
export function limitsIn(days: number, policy: Partial<RetentionPolicy> = {}): PruneLimits {
  return limitsAt({ ...RETENTION_DEFAULTS, ...policy }, Date.now() + days * DAY_MS)
}

/** A policy by which a run of now removes what it would remove in so many days by that one. */
export function policyIn(days: number, policy: Partial<RetentionPolicy> = {}): RetentionPolicy {
  const all = { ...RETENTION_DEFAULTS, ...policy }
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      typeof value === 'number' ? value - days : value,
    ]),
  ) as unknown as RetentionPolicy
}

/** Every step of a run, row by row: no partition is dropped. */
export async function pruneRows(
  store: Pick<Store<QueryTx>, 'retention'>,
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
