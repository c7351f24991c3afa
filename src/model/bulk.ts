import type { EventAction, RefusalCode } from './event-action.ts'
import type { EventState } from './event-state.ts'
import type { EventId } from './event.ts'
import type { MessageState } from './message-state.ts'

/**
 * What can be done to many events, and the states of those that are chosen where the filter names none. Others that
 * `ACTION_RULES` has for the action are chosen when they are named: what would still run by itself is not discarded
 * because a filter was wide.
 */
export const BULK_ACTIONS = {
  retry: ['dead'],
  replay: ['done', 'skipped', 'discarded'],
  release: ['conflict', 'quarantined'],
  discard: ['dead', 'unhandled', 'conflict', 'quarantined'],
  // A redelivery of what is done would have its effect again: that is forgotten only where it is named.
  forget: ['dead', 'skipped', 'discarded'],
} as const satisfies Readonly<Partial<Record<EventAction, readonly EventState[]>>>

/**
 * What can be done to many messages, and the states of those that are chosen where the filter names none. An unknown
 * message may have arrived, and one that is ready is sent by itself: they are chosen when they are named.
 */
export const MESSAGE_BULK_ACTIONS = {
  retryMessage: ['dead'],
  discardMessage: ['dead'],
} as const satisfies Readonly<Record<string, readonly MessageState[]>>

/** The states of messages that an action is for. */
export const MESSAGE_BULK_STATES: Readonly<Record<MessageBulkAction, readonly MessageState[]>> = {
  retryMessage: ['dead', 'unknown'],
  discardMessage: ['dead', 'unknown', 'ready'],
}

/** What is done to each event of a bulk. */
export type EventBulkAction = keyof typeof BULK_ACTIONS

/** What is done to each message of a bulk of messages. */
export type MessageBulkAction = keyof typeof MESSAGE_BULK_ACTIONS

/** What is done to each event, or each message, of a bulk. */
export type BulkAction = EventBulkAction | MessageBulkAction

/** Whether it is a bulk of messages. */
export function isMessageBulk(action: BulkAction): action is MessageBulkAction {
  return Object.hasOwn(MESSAGE_BULK_ACTIONS, action)
}

/** How the events of a bulk are replayed. */
export interface BulkTerms {
  /** Whether each run has idempotency keys of its own. */
  readonly freshKeys: boolean
  /** Whether an event of which a run has ended as done is refused. */
  readonly onlyIfNotApplied: boolean
}

/**
 * - `planning`: its events are being chosen. One whose process died meanwhile stays so, and is never run.
 * - `planned`: its events are chosen, and what is left of them is acted on when it is run.
 * - `aborted`: nothing more is done.
 */
export type BulkState = 'planning' | 'planned' | 'aborted'

/** A bulk: an action, the events or messages that were chosen for it, and how far it has come. */
export interface BulkRecord {
  readonly id: BulkId
  readonly action: BulkAction
  readonly state: BulkState
  readonly reason: string | undefined
  readonly actor: string | undefined
  /** How they are replayed; `undefined` for any other action. */
  readonly terms: BulkTerms | undefined
  /** What the events were chosen by, as JSON. */
  readonly filter: string
  readonly createdAt: Date
  /** How many events were chosen. */
  readonly planned: number
  /** How many of them the action was done to. */
  readonly done: number
  /** How many of them it was refused for, by why: their state had changed since they were chosen. */
  readonly refused: Readonly<Record<string, number>>
  /** How many are still to be acted on. */
  readonly left: number
}

/** Ours: a UUIDv7. */
export type BulkId = string

/** What became of one event of a bulk. Of a bulk of messages, `eventId` is the id of the message. */
export type BulkActed =
  | { readonly status: 'done'; readonly eventId: EventId }
  | { readonly status: 'refused'; readonly eventId: EventId; readonly code: string }
  /** There is nothing to do: no event is left, or those that are left are in the hands of others. */
  | { readonly status: 'none' }

/** Why a bulk in this state is neither run nor aborted; `undefined` for one that is not here. */
export function refusalOfBulk(state: BulkState | undefined): RefusalCode {
  if (state === undefined) return 'BULK_UNKNOWN'
  return state === 'aborted' ? 'BULK_ABORTED' : 'BULK_UNPLANNED'
}
