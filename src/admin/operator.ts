/**
 * What an operator can do. Every action goes through the inbox's store, never around it.
 *
 * @module
 */

import type { EventId } from '../model/event.ts'
import type { MessageId, MessageRecord } from '../model/message.ts'
import type { EventRecord } from '../model/outcome.ts'
import type { StepRecord } from '../model/step.ts'
import type { Store } from '../store/contract.ts'
import type { MessageQuery, PausedDestination } from '../store/outbox-contract.ts'
import { stringifyStepResult } from '../store/step-result.ts'

export interface Operator {
  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
  /** By the sender's key: the event, and the conflicts and quarantined ones kept beside it. */
  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]>
  /** How many events are stored. */
  countEvents(source?: string): Promise<number>
  /** The events that stopped and wait for a person, latest first. */
  listDead(limit?: number): Promise<readonly EventRecord[]>
  /** Runs a dead event again, with its attempts at zero. `false` when it is not dead. */
  retry(eventId: EventId): Promise<boolean>
  /** The steps that the latest run of an event has taken, and what is kept of them. */
  listSteps(eventId: EventId): Promise<readonly StepRecord[]>
  /**
   * Says what became of a call whose outcome is not known: that it happened, and what the step shall return;
   * or that it did not, so that it is made when the event runs again. Run the event again with `retry`.
   *
   * `false` when there is no such call, its outcome is known, or the event is being worked on.
   *
   * @throws HookonceError RESULT_INVALID for a result that a step could not have returned either
   */
  resolveStep(eventId: EventId, step: string, decision: StepDecision): Promise<boolean>
  /**
   * Drops the event's key, so that the sender's redelivery runs afresh. This process knows at once; others
   * may answer from memory until their next heartbeat, a second later, three at most. The event itself,
   * and what it has done, stay. `false` when there is no such event.
   */
  forget(eventId: EventId): Promise<boolean>

  /** The message with all that is known of it. */
  findMessage(id: MessageId): Promise<MessageRecord | undefined>
  /** The messages in a state, latest first: those that are `dead` or `unknown` wait for a person. */
  listMessages(
    query: Omit<MessageQuery, 'limit'> & { readonly limit?: number },
  ): Promise<readonly MessageRecord[]>
  /** Sends a dead or unknown message again, under its own key. `false` for any other. */
  retryMessage(id: MessageId): Promise<boolean>
  /** Says that an unknown message has arrived. `false` for any other. */
  confirmMessage(id: MessageId): Promise<boolean>
  /** Drops a message that is not sent and not on its way. `false` for any other. */
  discardMessage(id: MessageId): Promise<boolean>
  /** Sends nothing more to a destination, in no process. `false` when it is paused already. */
  pauseDestination(name: string, reason: string): Promise<boolean>
  /** `false` when it is not paused. */
  resumeDestination(name: string): Promise<boolean>
  listPausedDestinations(): Promise<readonly PausedDestination[]>
}

export interface StepDecision {
  readonly happened: boolean
  /** What the step shall return, where it happened. Must survive JSON. */
  readonly result?: unknown
  /** Where several handlers have a step of that name. */
  readonly handler?: string
}

export interface OperatorContext {
  readonly store: Store<unknown>
  readonly open: () => Promise<void>
  readonly onForgotten: (eventId: EventId) => void
  /** There may be something to send. */
  readonly onSendable: () => void
}

export function createOperator(context: OperatorContext): Operator {
  return { ...createEventOperator(context), ...createMessageOperator(context) }
}

type MessageActions =
  | 'findMessage'
  | 'listMessages'
  | 'retryMessage'
  | 'confirmMessage'
  | 'discardMessage'
  | 'pauseDestination'
  | 'resumeDestination'
  | 'listPausedDestinations'

function createMessageOperator({
  store,
  open,
  onSendable,
}: OperatorContext): Pick<Operator, MessageActions> {
  return {
    async findMessage(id) {
      await open()
      return store.findMessage(id)
    },
    async listMessages({ limit = 100, ...query }) {
      await open()
      return store.listMessages({ ...query, limit })
    },
    async retryMessage(id) {
      await open()
      const isQueued = await store.retryMessage(id)
      onSendable()
      return isQueued
    },
    async confirmMessage(id) {
      await open()
      return store.confirmMessage(id)
    },
    async discardMessage(id) {
      await open()
      return store.discardMessage(id)
    },
    async pauseDestination(name, reason) {
      await open()
      return store.pauseDestination(name, reason)
    },
    async resumeDestination(name) {
      await open()
      const isResumed = await store.resumeDestination(name)
      onSendable()
      return isResumed
    },
    async listPausedDestinations() {
      await open()
      return store.listPausedDestinations()
    },
  }
}

function createEventOperator({
  store,
  open,
  onForgotten,
}: OperatorContext): Omit<Operator, MessageActions> {
  return {
    async findEvent(eventId) {
      await open()
      return store.findEvent(eventId)
    },
    async listEventsByKey(source, key) {
      await open()
      return store.listEventsByKey(source, key)
    },
    async countEvents(source) {
      await open()
      return store.countEvents(source)
    },
    async listDead(limit = 100) {
      await open()
      return store.listDead(limit)
    },
    async retry(eventId) {
      await open()
      return store.retryEvent(eventId)
    },
    async listSteps(eventId) {
      await open()
      return store.listSteps(eventId)
    },
    async resolveStep(eventId, name, { happened, result, handler }) {
      await open()
      const decision = happened
        ? { happened, result: stringifyStepResult(name, result) }
        : { happened }
      return store.resolveStep({ eventId, handler, name, decision })
    },
    async forget(eventId) {
      await open()
      const isForgotten = await store.forgetEvent(eventId)
      onForgotten(eventId)
      return isForgotten
    },
  }
}
