import type { RefusalCode } from '../model/event-action.ts'
import type { EventState } from '../model/event-state.ts'
import type { EventId } from '../model/event.ts'

/** What became of an operator's action: done, or refused with why and what to do instead. */
export type ActionResult<Done extends object = object> =
  (Readonly<Done> & { readonly status: 'done' }) | ActionRefused

/** Nothing was changed. */
export interface ActionRefused {
  readonly status: 'refused'
  /** Stable: match on it, never on the texts. `docs/reference/refusals.md` has a heading for each. */
  readonly code: RefusalCode
  /** Why. */
  readonly reason: string
  /** What to do instead. */
  readonly instead: string
}

/** What became of an action on an event. */
export type EventActionResult = ActionResult<{
  readonly eventId: EventId
  /** Which run of the event it was about: 0 is the first, a replay makes the next. */
  readonly run: number
  /** The state that the action left the event in. */
  readonly state: EventState
  /**
   * With `forget`: from when on a redelivery is sure to be a new event, in every process. Until then another process may
   * answer it as a duplicate from memory, three seconds at most. By the clock of the process that did it.
   */
  readonly redeliverFrom?: Date
}>
