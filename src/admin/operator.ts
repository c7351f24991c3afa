/**
 * What an operator can do, as one type. How it is done is in the other files of this folder, put together by
 * `bind-operator.ts`.
 *
 * @module
 */

import type { BulkOperator } from './bulk-operator.ts'
import type { EventFinder } from './event-finder.ts'
import type { EventId } from '../model/event.ts'
import type { MessageId, MessageRecord } from '../model/message.ts'
import type { EventRecord } from '../model/outcome.ts'
import type { SecretUse } from '../model/secret-use.ts'
import type { StepRecord } from '../model/step.ts'
import type { AuditRecord, RunRecord } from '../store/contract/operators.ts'
import type { PauseRecord } from '../store/contract/pauses.ts'
import type { ActionOptions, ReasonedActionOptions, ReplayOptions } from './action-options.ts'
import type { ActionResult, EventActionResult } from './action-result.ts'
import type { MessagePage } from './list-messages.ts'
import type { MessageQuery } from './message-query.ts'
import type { PauseTarget } from './pause-target.ts'
import type { ListAuditQuery, ListRunsQuery, PageQuery } from './require-arguments.ts'
import type { RetentionOperator } from './retention-operator.ts'

/**
 * What an operator can do: `inbox.admin`. Every action opens the store if it is not open yet, and rejects
 * when it cannot be used, most often with `STORE_UNAVAILABLE`; with `OPTION_INVALID` for an argument that
 * cannot be meant.
 */
export interface Operator extends EventFinder, RetentionOperator {
  /** The same action on many events, or on many messages. */
  readonly bulk: BulkOperator
  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
  /**
   * The body of the request that brought the event, as it came, for a signature to be checked again or for what stood
   * beside the event. Most events are their whole request; those of a sender that puts several into one
   * have only their part in `body`. `undefined` when there is no such event.
   */
  findRequest(eventId: EventId): Promise<Uint8Array | undefined>
  /** By the sender's key: the event, and the conflicts and quarantined ones kept beside it, oldest first; 100 unless `limit` says otherwise. */
  listEventsByKey(source: string, key: string, query?: PageQuery): Promise<readonly EventRecord[]>
  /** How many events are stored. */
  countEvents(source?: string): Promise<number>
  /** The events that stopped and wait for a person, the newest event first; 100 unless `limit` says otherwise. */
  listDead(query?: PageQuery): Promise<readonly EventRecord[]>
  /** Runs a dead event again, with its attempts at zero. One that waits for its next attempt is due now. */
  retry(eventId: EventId, options?: ActionOptions): Promise<EventActionResult>
  /**
   * Runs an event once more that has come to its end: done, skipped or discarded. It is a run of its own with the
   * same event id, and with the same idempotency keys unless `freshKeys` asks for others. One that was forgotten has its
   * key again, so that its redelivery does not run beside it; it is refused where the redelivery came first.
   */
  replay(eventId: EventId, options: ReplayOptions): Promise<EventActionResult>
  /** Runs a conflict or a quarantined event, as an event of its own. */
  release(eventId: EventId, options: ReasonedActionOptions): Promise<EventActionResult>
  /** Ends an event that is not running and has no effects: it never runs. Its key stays, and a redelivery is a duplicate. */
  discard(eventId: EventId, options: ReasonedActionOptions): Promise<EventActionResult>
  /**
   * Drops the key of an event that has come to its end, so that the sender's redelivery runs afresh. A dead event is
   * discarded with it, so that only the redelivery can run. The inbox that is asked knows at once; other processes may
   * answer a redelivery as a duplicate from memory until their next heartbeat, a second later, three at most: have it
   * sent after `redeliverFrom` of the result. The event itself, and what it has done, stay.
   */
  forget(eventId: EventId, options?: ActionOptions): Promise<EventActionResult>
  /**
   * The runs of an event that operators asked for, in their order; 100 unless `limit` says otherwise. The first run of an
   * event is not among them.
   */
  listRuns(eventId: EventId, query?: ListRunsQuery): Promise<readonly RunRecord[]>
  /** The steps that the latest run of an event has taken, and what is kept of them. */
  listSteps(eventId: EventId): Promise<readonly StepRecord[]>
  /**
   * Says what became of a call whose outcome is not known: that it happened, and what the step shall return;
   * or that it did not, so that it is made when the event runs again. Run the event again with `retry`.
   *
   * @throws HookonceError RESULT_INVALID for a result that a step could not have returned either
   */
  resolveStep(
    eventId: EventId,
    step: string,
    decision: StepDecision,
    options?: ActionOptions,
  ): Promise<ActionResult>

  /** The message with all that is known of it. */
  findMessage(id: MessageId): Promise<MessageRecord | undefined>
  /**
   * Messages that fit, newest first, a page at a time; 100 unless `limit` says otherwise. Those that are `dead` or
   * `unknown` wait for a person.
   */
  listMessages(query?: MessageQuery): Promise<MessagePage>
  /** Sends a dead or unknown message again, under its own key. */
  retryMessage(id: MessageId, options?: ActionOptions): Promise<ActionResult>
  /** Says that an unknown message has arrived. */
  confirmMessage(id: MessageId, options?: ActionOptions): Promise<ActionResult>
  /** Drops a message that is not sent and not on its way. */
  discardMessage(id: MessageId, options?: ActionOptions): Promise<ActionResult>

  /**
   * Keeps a source, a handler, a destination or a lane still, in every process. Deliveries are received and stored as
   * ever, and what is running ends; nothing else of it runs, or is sent. A destination and a lane: at once. A source
   * and a handler: at once in this process, and within two seconds in others.
   */
  pause(target: PauseTarget, options?: ActionOptions): Promise<ActionResult>
  /** Lets it go on. */
  resume(target: PauseTarget, options?: ActionOptions): Promise<ActionResult>
  /** What is paused, with who did it, why and since when. */
  listPauses(): Promise<readonly PauseRecord[]>
  /**
   * How much the secrets of a source, or of all sources, are used: before an old one is removed, its `lastUsedAt` must
   * lie well before the change. Secrets themselves are not kept, so they cannot be listed.
   */
  listSecrets(query?: { readonly source?: string }): Promise<readonly SecretUse[]>
  /** What operators did, latest first; 100 unless `limit` says otherwise. */
  listAudit(query?: ListAuditQuery): Promise<readonly AuditRecord[]>
}

/** What a person has found out about a call whose outcome was not known. */
export interface StepDecision {
  /** Whether the other side has done it. */
  readonly happened: boolean
  /** What the step shall return, where it happened. Must survive JSON. */
  readonly result?: unknown
  /** Where several handlers have a step of that name. */
  readonly handler?: string
}
