import type { FaultDatabase } from './make-database.ts'
import { until } from './until.ts'

/**
 * Until the first process on this database has written its retention policy, which it does at its start beside all else:
 * a trap for a COMMIT could else meet that one.
 */
export function untilPolicyKept(database: FaultDatabase): Promise<void> {
  return until(
    'the retention policy is kept',
    async () => (await database.count('meta', `name = 'retention'`)) === 1,
  )
}
