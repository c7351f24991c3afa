import type { EventId } from './event.ts'
import type { EventSummary } from './event-summary.ts'
import type { MessageRecord } from './message.ts'
import type { EventRecord, Outcome, RecordedFailure } from './outcome.ts'
import type { StepRecord } from './step.ts'

/** All that is known of one event, in the order in which it happened. */
export interface EventStory {
  readonly event: EventRecord
  /**
   * What came for it, minute by minute, oldest first; the newest 1,000 of them. The delivery that brought the event is
   * among them where the event was a conflict or quarantined from the first, and not where it was accepted:
   * `event.deliveries` counts all. All of these had its fingerprint: a delivery with other content is an event of its
   * own, `beside` it.
   */
  readonly deliveries: readonly DeliveriesOfMinute[]
  /** Oldest first. One that waits or runs has no outcome yet. */
  readonly runs: readonly RunStory[]
  /** What its handlers have sent, oldest first, each with its idempotency key; 100 at most. */
  readonly messages: readonly MessageRecord[]
  /** Whether there are more messages than these. */
  readonly hasMoreMessages: boolean
  /** The event that its key stands for, where that is another one: what a conflict is in conflict with. */
  readonly firstEventId: EventId | undefined
  /** Other events of its source with its key, newest first; 100 at most. */
  readonly beside: readonly EventBeside[]
}

/** Deliveries of a known event in one minute. */
export interface DeliveriesOfMinute {
  readonly minute: Date
  /** What they were: `duplicate`, `conflict` or `quarantined`. */
  readonly outcome: string
  readonly count: number
}

/** One run of an event: the first, or one that an operator asked for. */
export interface RunStory {
  /** From 0. */
  readonly run: number
  readonly outcome: Outcome | undefined
  /** Oldest first; the newest 1,000 of an event. */
  readonly failures: readonly RecordedFailure[]
  /** In the order in which each handler began them. */
  readonly steps: readonly StepStory[]
}

/** A step, and what it told the other side. */
export interface StepStory extends StepRecord {
  /** What `ctx.idempotencyKey(name)` gives, and a call has sent. */
  readonly idempotencyKey: string
}

/** An event with the key of another. */
export interface EventBeside {
  readonly event: EventSummary
  /** Whether its body is the same, byte for byte. */
  readonly hasSameBody: boolean
}

/** Where an idempotency key was used. */
export interface IdempotencyKeyUses {
  readonly messages: readonly MessageRecord[]
  readonly steps: readonly IdempotentStep[]
  /** How many steps were looked at, newest first: 10,000 at most. Their keys are derived, and not kept. */
  readonly lookedAt: number
  /** Where to look on; `undefined` when every step was looked at. */
  readonly cursor: string | undefined
}

/** A step whose idempotency key was asked for. */
export interface IdempotentStep {
  readonly eventId: EventId
  readonly run: number
  readonly handler: string
  readonly name: string
}
