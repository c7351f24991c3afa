/**
 * What an operator is told of a refused action: why, and what to do instead. Read at 3 a.m., so each is two short
 * sentences. Calls are named as the library has them; `cli/output/advise.ts` has the commands for them.
 *
 * @module
 */

import type { EventAction, RefusalCode } from '../model/event-action.ts'
import { findOrderValue } from '../model/order-text.ts'
import type { MessageAction } from '../store/contract/messages.ts'
import type { RefusalAbout } from '../store/contract/operators.ts'
import type { ActionRefused } from './action-result.ts'

/** What was asked for, as far as the advice depends on it. */
export type Asked =
  EventAction | MessageAction | 'resolveStep' | 'pause' | 'resume' | 'bulk' | 'prune'

export function refuse(asked: Asked, code: RefusalCode, about: RefusalAbout = {}): ActionRefused {
  const instead = advise(about) ?? INSTEAD_OF[asked]?.[code] ?? INSTEAD[code]
  return { status: 'refused', code, reason: describe(about) ?? REASONS[code], instead }
}

function describe({ erasedAt, versions }: RefusalAbout): string | undefined {
  if (erasedAt !== undefined) return `Payload erased on ${erasedAt.toISOString()}.`
  if (versions === undefined) return undefined
  const [own, applied] = [versions.version, versions.applied].map(findOrderValue)
  return `The event is stale: its version ${own} is older than ${applied}, which event ${versions.appliedBy} has applied in its lane.`
}

function advise({ versions }: RefusalAbout): string | undefined {
  if (versions === undefined) return undefined
  return `Replay event ${versions.appliedBy}. ${NEWEST_WINS}`
}

const NEWEST_WINS = 'An older state must not be written over a newer one.'

const REASONS: Readonly<Record<RefusalCode, string>> = {
  EVENT_UNKNOWN: 'There is no event with this id.',
  EVENT_READY:
    'The event is ready: it has not run to its end, and a worker runs it when it is due.',
  EVENT_RUNNING: 'A worker is running the event.',
  EVENT_DONE: 'The event is done: its effects have happened.',
  EVENT_DEAD: 'The event is dead: it stopped, and it can still be retried.',
  EVENT_SKIPPED: 'The event is skipped: a handler had nothing to do for it.',
  EVENT_DISCARDED: 'An operator has discarded the event.',
  EVENT_UNHANDLED: 'No worker has a handler for the type of the event.',
  EVENT_CONFLICT: 'The event is a conflict: its key came before, with other content.',
  EVENT_QUARANTINED: 'The event is quarantined: it was kept without being run.',
  EVENT_WAITING: 'The event waits in its lane: behind another, or for what is missing.',
  EVENT_APPLIED:
    'A run of the event has ended as done, and only events without one were asked for.',
  EVENT_ARRIVED: 'The same event has arrived since, as another one with its key.',
  EVENT_NOT_SPLIT:
    'The event is a whole request with more events than `receive.eventsMax`, and it was not split.',
  EVENT_NOT_OURS:
    'The event ran in a transaction of your own (inbox.once), and no handler could run it.',
  EVENT_STALE: 'A later version than that of the event was applied in its lane.',
  KEY_UNKNOWN: 'The event has no key any more: it was forgotten before, or its time was over.',
  MESSAGE_UNKNOWN: 'There is no message with this id.',
  MESSAGE_STATE: 'The message is not in a state that this is for.',
  MESSAGE_UNSENT: 'A message of the event is not sent yet, or it is not known whether it was.',
  PAYLOAD_ERASED: 'The body of the event was erased.',
  PAYLOAD_PRUNED: 'The payload of the event is past its retention, and was pruned.',
  STEP_CERTAIN: 'There is no call of that name whose outcome is unknown.',
  TOKEN_USED: 'The token stands for another action.',
  PAUSED: 'It is paused already.',
  NOT_PAUSED: 'It is not paused.',
  LANE_UNKNOWN: 'No event has been in this lane.',
  BULK_UNKNOWN: 'There is no such bulk.',
  BULK_UNPLANNED:
    'The events of the bulk are still being chosen, or the process that chose them has died.',
  BULK_ABORTED: 'The bulk was aborted.',
  PRUNE_UNUSUAL: 'It would remove far more than usual.',
  PRUNE_BUSY: 'Another pruner is at work, or a transaction holds what would be removed.',
  RETENTION_UNKNOWN: 'No inbox has written down on this database how long things are kept.',
}

const INSTEAD: Readonly<Record<RefusalCode, string>> = {
  EVENT_UNKNOWN: 'Look for it by its key: listEventsByKey(source, key).',
  EVENT_READY: 'Wait for it to run, or discard it.',
  EVENT_RUNNING: 'Wait for it to end, then look at its state.',
  EVENT_DONE: 'Replay it, if it must run once more.',
  EVENT_DEAD: 'Retry it, or discard it.',
  EVENT_SKIPPED: 'Replay it, if it must run once more.',
  EVENT_DISCARDED: 'Replay it, if it must run after all.',
  EVENT_UNHANDLED: 'Register a handler for its type: it then runs by itself. Or discard it.',
  EVENT_CONFLICT: 'Release it to run it as an event of its own, or discard it.',
  EVENT_QUARANTINED: 'Release it to run it as an event of its own, or discard it.',
  EVENT_WAITING:
    'Look at what blocks it: show(id). Retry or discard that one, or discard this one.',
  EVENT_APPLIED: 'Leave onlyIfNotApplied out, if it must run once more.',
  EVENT_ARRIVED: 'Discard this one: the other runs.',
  EVENT_NOT_SPLIT:
    'Raise `receive.eventsMax` and have the sender deliver the request again; then discard this one.',
  EVENT_NOT_OURS: 'Forget it, and have its message, job or request come again.',
  EVENT_STALE: `Replay the event that was applied last in its lane. ${NEWEST_WINS}`,
  KEY_UNKNOWN: 'Nothing is left to do: the next delivery of it is a new event.',
  MESSAGE_UNKNOWN: 'Look for it among those of its destination: listMessages().',
  MESSAGE_STATE: 'Look at its state: findMessage(id).',
  MESSAGE_UNSENT: 'Let it be sent, or discard it: show(id) names it.',
  PAYLOAD_ERASED:
    'Forget it: forget(id). Its key is then free, and the sender can deliver it again as a new event. Or give it a body: replay(id, { reason, body }).',
  PAYLOAD_PRUNED: 'Put it right in your own tables, by what the sender shows of it.',
  STEP_CERTAIN: 'Look at its steps: listSteps(eventId).',
  TOKEN_USED: 'Make a new token for each action.',
  PAUSED: 'Nothing is left to do. listPauses() says since when, and why.',
  NOT_PAUSED: 'Nothing is left to do. listPauses() says what is paused.',
  LANE_UNKNOWN:
    "Look at the lane of one of its events: show(id) has it as its handler's order gave it.",
  BULK_UNKNOWN: 'Plan one with bulk.plan, and use the id that it returns.',
  BULK_UNPLANNED: 'Wait for bulk.plan to return, or plan another one.',
  BULK_ABORTED: 'Plan another one for the events that are left.',
  PRUNE_UNUSUAL:
    "Check the database's clock and the retention options. If it is meant, call prune({ force: true, reason }).",
  PRUNE_BUSY:
    'Nothing is left to do: the other one goes on, and the next run takes up what is left.',
  RETENTION_UNKNOWN: 'Start an inbox once, or call inbox.admin.prune() of one.',
}

/** Where the advice depends on what was asked for. */
const INSTEAD_OF: Readonly<Partial<Record<Asked, Readonly<Partial<Record<RefusalCode, string>>>>>> =
  {
    retry: {
      EVENT_READY:
        'It is due already. If nothing runs it, see whether a worker runs and what is paused: stats().',
    },
    discard: {
      EVENT_DONE: 'Nothing is left to discard: what it has done, you can only undo yourself.',
      EVENT_SKIPPED: 'Nothing is left to discard.',
      EVENT_DISCARDED: 'Nothing is left to do.',
    },
    forget: {
      EVENT_READY: 'Wait for it to run; or discard it first, and then forget it.',
      EVENT_UNHANDLED:
        'Register a handler for its type: it then runs by itself. Or discard it first, and then forget it.',
      EVENT_CONFLICT: 'Release it or discard it first.',
      EVENT_QUARANTINED: 'Release it or discard it first.',
    },
    erase: {
      EVENT_UNKNOWN: 'If its payload was pruned there is nothing left to erase.',
      EVENT_READY: 'Wait for it to run; or discard it first, and then erase it.',
      EVENT_WAITING: 'Wait for it to run; or discard it first, and then erase it.',
      EVENT_RUNNING: 'Wait for it to end, then erase it.',
      EVENT_UNHANDLED: 'Discard it first, and then erase it.',
      EVENT_CONFLICT: 'Discard it first, and then erase it.',
      EVENT_QUARANTINED: 'Discard it first, and then erase it.',
    },
    release: {
      EVENT_READY:
        'Wait for it to run: it needs no release. Where it does not, see what is paused: listPauses().',
    },
    retryMessage: {
      MESSAGE_STATE:
        'Only a dead or unknown message is sent again. Look at its state: findMessage(id).',
    },
    confirmMessage: {
      MESSAGE_STATE: 'Only an unknown message is confirmed. Look at its state: findMessage(id).',
    },
    discardMessage: {
      MESSAGE_STATE: 'A message that is sent, or on its way, cannot be called back.',
    },
    replay: {
      EVENT_DEAD: 'Retry it: it has not come to its end.',
      EVENT_ARRIVED:
        'Leave this one: the other runs. Look at it by its key: listEventsByKey(source, key). Replay that one, if it must run once more.',
    },
  }
