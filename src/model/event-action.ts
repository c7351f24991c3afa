/**
 * What an operator can do with an event, as data: for each action, the states it is for and what becomes of the
 * event. A state that is not named is refused.
 *
 * `src/testing/store/cases/event-actions.ts` tries every action in every state on every store; `docs/operators.md` has
 * the same table, compared by `test/docs/operators-page.test.ts`.
 *
 * @module
 */

import type { EventState } from './event-state.ts'

/** Everything an operator can do with an event. */
export const EVENT_ACTIONS = ['retry', 'replay', 'release', 'discard', 'forget', 'erase'] as const

/** What an operator does with an event. */
export type EventAction = (typeof EVENT_ACTIONS)[number]

/** For each action, the states it is for, each with the state that the event is in afterwards. */
export const ACTION_RULES: Readonly<
  Record<EventAction, Readonly<Partial<Record<EventState, EventState>>>>
> = {
  retry: { ready: 'ready', dead: 'ready' },
  replay: { done: 'ready', skipped: 'ready', discarded: 'ready' },
  release: { conflict: 'ready', quarantined: 'ready' },
  discard: {
    ready: 'discarded',
    waiting: 'discarded',
    dead: 'discarded',
    unhandled: 'discarded',
    conflict: 'discarded',
    quarantined: 'discarded',
  },
  // A dead event could be retried beside its own redelivery, so that forgetting it ends it for good.
  forget: { done: 'done', skipped: 'skipped', discarded: 'discarded', dead: 'discarded' },
  // A dead event could not run without its bytes.
  erase: { done: 'done', skipped: 'skipped', discarded: 'discarded', dead: 'discarded' },
}

/**
 * Why an action was refused. `EVENT_<STATE>` names the state that it is not for; `docs/reference/refusals.md` has a
 * heading for each.
 */
export const REFUSAL_CODES = [
  'EVENT_UNKNOWN',
  'EVENT_READY',
  'EVENT_RUNNING',
  'EVENT_DONE',
  'EVENT_DEAD',
  'EVENT_SKIPPED',
  'EVENT_DISCARDED',
  'EVENT_UNHANDLED',
  'EVENT_CONFLICT',
  'EVENT_WAITING',
  'EVENT_QUARANTINED',
  'EVENT_APPLIED',
  'EVENT_STALE',
  'EVENT_ARRIVED',
  'EVENT_NOT_SPLIT',
  'EVENT_NOT_OURS',
  'KEY_UNKNOWN',
  'MESSAGE_UNKNOWN',
  'MESSAGE_STATE',
  'MESSAGE_UNSENT',
  'PAYLOAD_ERASED',
  'PAYLOAD_PRUNED',
  'STEP_CERTAIN',
  'TOKEN_USED',
  'PAUSED',
  'NOT_PAUSED',
  'LANE_UNKNOWN',
  'BULK_UNKNOWN',
  'BULK_UNPLANNED',
  'BULK_ABORTED',
  'PRUNE_UNUSUAL',
  'PRUNE_BUSY',
  'RETENTION_UNKNOWN',
] as const

/** Why an action was refused. */
export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** The code for an event that is in a state the action is not for. */
export function refusalOf(state: EventState): RefusalCode {
  return `EVENT_${state.toUpperCase() as Uppercase<EventState>}`
}
