/**
 * A group of `at-least-once` events: their handlers run side by side. They share nothing, so none waits for another.
 *
 * When the worker is stopped for good, some handlers may have ended and others not. What has ended is settled. Given
 * back with the others, it would be run once more by the next worker, and the outside world be called twice without a
 * crash (`test/inbox/interrupted-neighbours.ts`, H44).
 *
 * @module
 */

import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Group } from '../../store/contract/group.ts'
import { InterruptedError } from '../../flow/interruption.ts'
import { settleRun } from '../settlement.ts'
import type { SettledEvent } from '../settlement.ts'
import { runEvent } from './run-event.ts'
import { noteRun, unhandled } from './run-in-group.ts'
import type { RunInGroupContext } from './run-in-group.ts'

/** Returns the events that have ended. The others go back to the queue as they were, when the group ends. */
export async function runSideBySide<Tx>(
  context: RunInGroupContext,
  group: Group<Tx>,
  events: readonly ClaimedEvent[],
): Promise<readonly SettledEvent[]> {
  const runs = await Promise.all(events.map((event) => runUnlessInterrupted(context, event)))
  const settled = runs.filter((run) => run !== undefined)
  // A handler that outlasts every connection would otherwise run for ever without a counted attempt.
  if (group.status() === 'lost') context.runAlone(events)
  if (settled.length === 0) throw new InterruptedError()
  const size = events.length - settled.length
  const cause = 'the worker was stopped'
  if (size > 0) context.happenings.emit('group.given-back', { size, cause })
  return settled
}

async function runUnlessInterrupted(
  context: RunInGroupContext,
  event: ClaimedEvent,
): Promise<SettledEvent | undefined> {
  const unit = context.findUnit(event)
  if (unit === undefined) return unhandled(event)
  try {
    const result = await runEvent(context, { event, unit, lender: undefined })
    noteRun(context, event, unit, result)
    return settleRun(event, unit, result)
  } catch (error) {
    if (error instanceof InterruptedError) return undefined
    throw error
  }
}
