import { isClockSkewed } from '../receive/clock-skew.ts'
import type { ReceivingInbox } from './receiving-inbox.ts'

/**
 * Whether deliveries are taken. `degraded`: they are, and a person should look, since many of them may be refused. It
 * is no reason to send them elsewhere: where the database's clock is the wrong one, all processes say so.
 */
export type Readiness = 'ready' | 'degraded' | 'not ready'

/** How ready an inbox is now. */
export function readinessOf({
  isReady,
  clockSkewMs = 0,
}: {
  readonly isReady: boolean
  readonly clockSkewMs?: ReceivingInbox['clockSkewMs']
}): Readiness {
  if (!isReady) return 'not ready'
  return isClockSkewed(clockSkewMs) ? 'degraded' : 'ready'
}
