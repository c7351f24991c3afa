import type { PruneLimits } from '../store/contract/retention.ts'
import type { RetentionDays, RetentionPolicy } from './options.ts'

export const DAY_MS = 86_400_000

/** What ended before these times is no longer to be kept. */
export function limitsAt(policy: RetentionPolicy, nowMs: number): PruneLimits {
  const before = (days: RetentionDays): number | null =>
    days === 'forever' ? null : nowMs - days * DAY_MS
  return {
    done: before(policy.doneDays),
    skipped: before(policy.skippedDays),
    discarded: before(policy.discardedDays),
    dead: before(policy.deadDays),
    attempts: before(policy.attemptsDays),
    steps: before(policy.stepsDays),
    deliveries: before(policy.deliveriesDays),
    messages: before(policy.messagesDays),
    audit: before(policy.auditDays),
    keys: before(policy.keysDays),
  }
}
