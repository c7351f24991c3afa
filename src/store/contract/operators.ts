/**
 * What a store must do for operators, who look at events or decide about them.
 *
 * Rules for every store:
 *
 * - An action is one transaction: what it changes, and its row in `audit`. A refused one changes nothing.
 * - Two actions on one event come one after the other. Between an action and a worker, or a redelivery, the row that
 *   both change decides: the second one sees what the first has made of the event.
 * - A token stands for one action. The second call with it changes nothing, and is told what became of the first.
 *
 * Held by `event-actions.ts`, `event-runs.ts` and `action-races.ts` in `src/testing/store/cases/`, and by
 * `test/store/contract/erase.ts`.
 *
 * @module
 */

import type { EventAction, RefusalCode } from '../../model/event-action.ts'
import type { EventState } from '../../model/event-state.ts'
import type { EventId } from '../../model/event.ts'
import type { OrderText } from '../../model/order-text.ts'
import type { EventRecord } from '../../model/outcome.ts'
import type { SecretUse } from '../../model/secret-use.ts'

export interface OperatorStore {
  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
  /** The body of the whole request that brought the event. It is kept once, however many events were parts of it. */
  findRequest(eventId: EventId): Promise<Uint8Array | undefined>
  /** By the sender's key: the event, and the conflicts and quarantined ones kept beside it, oldest first. */
  listEventsByKey(
    source: string,
    key: string,
    page?: PageAbove<EventId>,
  ): Promise<readonly EventRecord[]>
  /** How many events are stored, of one source or of all. */
  countEvents(source?: string): Promise<number>
  /** The events that are `dead`, the newest event first. */
  listDead(page: PageBelow<EventId>): Promise<readonly EventRecord[]>

  /** Does what `ACTION_RULES` says of the action and the state that the event is in. */
  act(request: ActionRequest): Promise<Acted>
  /** The runs of an event that operators asked for, in their order. The first run of an event is not among them. */
  listRuns(eventId: EventId, page?: PageAbove<number>): Promise<readonly RunRecord[]>
  /** How much the secrets of a source, or of all, are used; by source and label. */
  listSecretUses(source?: string): Promise<readonly SecretUse[]>
  /** Writes to the audit that a source is to be back-filled, before anything is taken in. Returns the row. */
  beginBackfill(source: string, order: Omit<Ordered, 'token'>): Promise<string>
  /** Says in that row what became of it. One that stays `begun` was broken off. */
  endBackfill(auditId: string, outcome: AuditRecord['outcome']): Promise<void>
  /** What operators did, latest first. */
  listAudit(query: AuditQuery): Promise<readonly AuditRecord[]>
}

/** Who asks for a change, why, and under which token. */
export interface Ordered {
  readonly reason: string | undefined
  readonly actor: string | undefined
  readonly token: string | undefined
}

export interface ActionRequest extends Ordered {
  readonly action: EventAction
  readonly eventId: EventId
  /** How a replay runs. */
  readonly replay?: ReplayTerms
}

export interface ReplayTerms {
  /** Whether the run has idempotency keys of its own. */
  readonly freshKeys: boolean
  /** What the handlers get in place of the body; `undefined` for the body as it came. */
  readonly body: Uint8Array | undefined
  /** Whether it is refused for an event of which a run has ended as done. */
  readonly onlyIfNotApplied: boolean
}

/** What became of an action. */
export type Acted =
  | { readonly status: 'done'; readonly run: number; readonly state: EventState }
  | {
      readonly status: 'refused'
      readonly code: RefusalCode
      /** What there is to tell about it beyond the code. */
      readonly about?: RefusalAbout
    }

export interface RefusalAbout {
  /** With `PAYLOAD_ERASED`. */
  readonly erasedAt?: Date
  /** With `EVENT_STALE`. */
  readonly versions?: LaneVersions
}

/** The version of an event, the latest that was applied in its lane, and the event that was applied with it. */
export interface LaneVersions {
  readonly version: OrderText
  readonly applied: OrderText
  readonly appliedBy: EventId
}

/** A run that an operator asked for. */
export interface RunRecord {
  /** From 1: run 0 is the one that the delivery brought. */
  readonly run: number
  readonly reason: string | undefined
  readonly actor: string | undefined
  readonly at: Date
  readonly freshKeys: boolean
  /** What the handlers get in place of the body; `undefined` where they get the body as it came. */
  readonly body: Uint8Array | undefined
}

/** A page of what is listed with the newest first: it goes on where the page before ended. */
export interface PageBelow<Place> {
  /** Only what is older than this; left out, from the newest. */
  readonly below?: Place | undefined
  readonly limit: number
}

/** A page of what is listed with the oldest first. */
export interface PageAbove<Place> {
  /** Only what is newer than this; left out, from the oldest. */
  readonly above?: Place | undefined
  /** Left out, all of it. */
  readonly limit?: number | undefined
}

export interface AuditQuery extends PageBelow<AuditRecord['id']> {
  /** Only what was done to this; left out, everything. */
  readonly subject?: { readonly kind: SubjectKind; readonly id: string } | undefined
}

/** What something was done to. */
export type SubjectKind = 'event' | 'message' | 'bulk' | 'retention' | 'token' | PauseKind

/** What can be paused. */
export type PauseKind = 'source' | 'handler' | 'destination' | 'lane'

/** What an operator did. */
export interface AuditRecord {
  /** Higher than that of everything that was done before: digits, for it may be too high for a number. */
  readonly id: string
  readonly at: Date
  readonly actor: string | undefined
  /** The name of the method, such as `retry` or `pause`. */
  readonly action: string
  readonly subject: { readonly kind: SubjectKind; readonly id: string }
  readonly reason: string | undefined
  readonly token: string | undefined
  /** What became of it. */
  readonly outcome: Readonly<Record<string, unknown>>
}
