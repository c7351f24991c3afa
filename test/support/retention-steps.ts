import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'
import type { RetentionPolicy } from '../../src/retention/options.ts'

export * from '../../src/testing/store/steps/retention-steps.ts'

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
