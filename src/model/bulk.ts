import type { EventState } from './event-state.ts'
import type { EventId } from './event.ts'

/** What can be done to many events, and in which states they are for it to be done. */
export const BULK_ACTIONS = {
  retry: ['dead'],
} as const satisfies Readonly<Record<string, readonly EventState[]>>

/** What is done to each event of a bulk. */
export type BulkAction = keyof typeof BULK_ACTIONS

/**
 * - `planning`: its events are being chosen. One whose process died meanwhile stays so, and is never run.
 * - `planned`: its events are chosen, and what is left of them is acted on when it is run.
 * - `aborted`: nothing more is done.
 */
export type BulkState = 'planning' | 'planned' | 'aborted'

/** A bulk: an action, the events that were chosen for it, and how far it has come. */
export interface BulkRecord {
  readonly id: BulkId
  readonly action: BulkAction
  readonly state: BulkState
  readonly reason: string | undefined
  readonly actor: string | undefined
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

/** What became of one event of a bulk. */
export type BulkActed =
  | { readonly status: 'done'; readonly eventId: EventId }
  | { readonly status: 'refused'; readonly eventId: EventId; readonly code: string }
  /** There is nothing to do: no event is left, or those that are left are in the hands of others. */
  | { readonly status: 'none' }
