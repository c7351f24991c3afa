/**
 * The orders of the fault tests: what a function is cannot be said from process to process, and so its name is.
 *
 * @module
 */

import type { WebhookEvent } from '../../../src/model/event.ts'
import type { OrderMode, OrderOptions } from '../../../src/ordering/order.ts'

interface InLane {
  readonly lane: string
  readonly n?: number
  readonly freezesLane?: boolean
}

const HOUR_MS = 3_600_000

/**
 * Asked for the lane of an event that freezes it, a process with `onFrozen` first calls that and then stands still, by a
 * SIGSTOP. The process of the tests has none: it would stop the whole run.
 */
export function orderOf(mode: OrderMode, onFrozen?: (event: WebhookEvent) => void): OrderOptions {
  const lane = (event: WebhookEvent): string => {
    const { lane: name, freezesLane } = event.payload as InLane
    if (freezesLane === true && onFrozen !== undefined) {
      onFrozen(event)
      process.kill(process.pid, 'SIGSTOP')
    }
    return name
  }
  const numberOf = (event: WebhookEvent): number => (event.payload as InLane).n ?? 0
  switch (mode) {
    case 'fifo':
      return { mode, lane }
    case 'sequence':
      return { mode, lane, sequence: numberOf, gapMs: HOUR_MS, onGap: 'dead' }
    case 'latest':
      return { mode, lane, version: numberOf }
    case 'after':
      return { mode, lane, requires: 'thing.made', waitMs: HOUR_MS, onMissing: 'dead' }
  }
}
