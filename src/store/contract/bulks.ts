/**
 * What a store must do for actions on many events. Held by `src/testing/store/cases/bulks.ts`,
 * `test/inbox/bulk-actions.ts` and `test/faults/bulk-crash.test.ts`.
 *
 * Rules for every store:
 *
 * - A bulk whose action is one of `MESSAGE_BULK_ACTIONS` has messages where others have events, under the same rules.
 * - The events of a bulk are chosen once, and kept. What was counted is what is acted on.
 * - The action on an event and the note that it was done are one transaction: however often a bulk is interrupted and
 *   taken up again, and by however many processes at once, each of its events is acted on once.
 *
 * @module
 */

import type { BulkActed, BulkAction, BulkId, BulkRecord, BulkTerms } from '../../model/bulk.ts'
import type { EventId } from '../../model/event.ts'
import type { Acted, Ordered, PageBelow } from './operators.ts'

/** The part of a store that keeps actions on many events. */
export interface BulkStore {
  /**
   * Makes a bulk that has no events yet, and says so in the audit. Under a token that was used for a bulk before,
   * nothing is made: it is that bulk.
   */
  create(draft: BulkDraft): Promise<BulkCreated>
  /** Adds events to one that is being planned; one that is in it already is not added again. */
  addEvents(id: BulkId, eventIds: readonly EventId[]): Promise<void>
  /** From now on it can be run, and no event is added. */
  endPlanning(id: BulkId): Promise<void>
  find(id: BulkId): Promise<BulkRecord | undefined>
  /** The latest first. */
  list(query: BulkQuery): Promise<readonly BulkRecord[]>
  /** The first of its events, newest first. */
  listEvents(id: BulkId, limit: number): Promise<readonly EventId[]>
  /** Writes to the audit who runs it. Refused when it is not planned. Under a token that was used for that before, nothing is written. */
  beginRun(id: BulkId, order: Ordered): Promise<BulkRunBegun>
  /**
   * Acts on the oldest event that is left, one at a time in all processes: what runs next in its lane is then replayed
   * in the order of the lane. `none` unless it is planned.
   */
  actOnNext(id: BulkId): Promise<BulkActed>
  /** Nothing more is done from here on; what is being done is waited for. Refused when it is not planned. */
  abort(id: BulkId, order: Ordered): Promise<BulkAbort>
}

export interface BulkQuery extends PageBelow<BulkId> {
  /** Only those that are planned and have events left, or whatever is kept. */
  readonly which: 'unfinished' | 'all'
}

export interface BulkDraft {
  readonly id: BulkId
  readonly action: BulkAction
  /** As JSON. */
  readonly filter: string
  readonly reason: string | undefined
  readonly actor: string | undefined
  /** Stands for this one bulk. */
  readonly token: string | undefined
  /** Of a replay. */
  readonly terms: BulkTerms | undefined
}

/** Which bulk it is: a new one, or `known` from the token. */
export type BulkCreated =
  | { readonly status: 'created' | 'known'; readonly id: BulkId }
  | Extract<Acted, { readonly status: 'refused' }>

/** What became of the wish to run one. */
export type BulkRunBegun = BulkAbort

/** What became of an abort. */
export type BulkAbort = { readonly status: 'done' } | Extract<Acted, { readonly status: 'refused' }>

/** What is to be done to one event, or to one message by its id, inside the bulk's transaction. */
export interface BulkOrder {
  readonly action: BulkAction
  readonly eventId: EventId
  readonly reason: string | undefined
  readonly actor: string | undefined
  readonly terms: BulkTerms | undefined
}

/** What became of it. */
export type BulkOrderResult =
  { readonly status: 'done' } | { readonly status: 'refused'; readonly code: string }
