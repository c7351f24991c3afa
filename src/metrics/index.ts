/**
 * What an inbox does, as numbers for Prometheus. An entry of its own: `hookonce/metrics`.
 *
 * Counters and durations are those of this process, from what happens in it. How things stand is read from the store
 * when the page is asked for, at most every few seconds, and is the same in every process that shares the store.
 *
 * @module
 */

import { InboxMetrics } from './inbox-metrics.ts'
import type { Metrics } from './inbox-metrics.ts'
import type { MeasuredInbox } from './measured-inbox.ts'

export type { Metrics } from './inbox-metrics.ts'
export type { MeasuredInbox } from './measured-inbox.ts'

/** Counts what happens in an inbox, for `/metrics`. */
export function createMetrics(inbox?: MeasuredInbox): Metrics {
  const metrics = new InboxMetrics()
  if (inbox !== undefined) metrics.watch(inbox)
  return metrics
}
