/**
 * What an operator can do. Every action goes through the inbox's store, never around it.
 *
 * @module
 */

import type { EventId } from '../model/event.ts'
import type { MessageId, MessageRecord } from '../model/message.ts'
import type { EventRecord } from '../model/outcome.ts'
import type { StepRecord } from '../model/step.ts'
import type { Store } from '../store/contract/store.ts'
import type { MessageQuery, PausedDestination } from '../store/contract/messages.ts'
import { stringifyStepResult } from '../store/contract/step-result.ts'
import type { RetentionPolicy } from '../retention/options.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { createRetentionOperator } from './retention-operator.ts'
import type { RetentionOperator } from './retention-operator.ts'
import {
  LIST_LIMIT,
  requireDecision,
  requireDestination,
  requireLimit,
  requireMessageQuery,
  requireText,
} from './require-arguments.ts'

/**
 * What an operator can do: `inbox.admin`. Every action opens the store if it is not open yet, and rejects
 * when it cannot be used, most often with `STORE_UNAVAILABLE`; with `OPTION_INVALID` for an argument that
 * cannot be meant.
 */
export interface Operator extends RetentionOperator {
  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
  /**
   * The body of the request that brought the event, as it came, for a signature to be checked again or for what stood
   * beside the event. Most events are their whole request; those of a sender that puts several into one
   * have only their part in `body`. `undefined` when there is no such event.
   */
  findRequest(eventId: EventId): Promise<Uint8Array | undefined>
  /** By the sender's key: the event, and the conflicts and quarantined ones kept beside it. */
  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]>
  /** How many events are stored. */
  countEvents(source?: string): Promise<number>
  /** The events that stopped and wait for a person, latest first; 100 unless `limit` says otherwise. */
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
  /**
   * The messages in a state, latest first; 100 unless `limit` says otherwise. Those that are `dead` or `unknown`
   * wait for a person.
   */
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
  /** Those that nothing is sent to, with why and since when. */
  listPausedDestinations(): Promise<readonly PausedDestination[]>
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

export interface OperatorContext {
  readonly store: Store<unknown>
  readonly open: () => Promise<void>
  readonly onForgotten: (eventId: EventId) => void
  /** There may be something to send. */
  readonly onSendable: () => void
  /** How long things are kept. Left out, what the inbox that ran last has written down. */
  readonly retention?: RetentionPolicy
  readonly happenings?: HappeningEmitter
}

export function createOperator({
  store,
  open,
  onForgotten,
  onSendable,
  retention,
  happenings,
}: OperatorContext): Operator {
  /** The only way to the store: an operator may be the first who needs it. */
  const act: Act = async (action) => {
    await open()
    return action(store)
  }
  return {
    ...createEventOperator(act, onForgotten),
    ...createRetentionOperator(act, { retention, happenings }),
    ...createMessageOperator(act, onSendable),
  }
}

type Act = <Result>(action: (store: Store<unknown>) => Promise<Result>) => Promise<Result>

type MessageActions =
  | 'findMessage'
  | 'listMessages'
  | 'retryMessage'
  | 'confirmMessage'
  | 'discardMessage'
  | 'pauseDestination'
  | 'resumeDestination'
  | 'listPausedDestinations'

function createEventOperator(
  act: Act,
  onForgotten: OperatorContext['onForgotten'],
): Omit<Operator, MessageActions | keyof RetentionOperator> {
  return {
    findEvent: async (eventId) => {
      requireText('findEvent.eventId', eventId, 'the id of an event')
      return act((store) => store.operators.findEvent(eventId))
    },
    findRequest: async (eventId) => {
      requireText('findRequest.eventId', eventId, 'the id of an event')
      return act((store) => store.operators.findRequest(eventId))
    },
    listEventsByKey: async (source, key) => {
      requireText('listEventsByKey.source', source, 'the name of a source')
      requireText('listEventsByKey.key', key, "the sender's key of an event")
      return act((store) => store.operators.listEventsByKey(source, key))
    },
    countEvents: async (source) => {
      if (source !== undefined)
        requireText('countEvents.source', source, 'the name of a source, or left out')
      return act((store) => store.operators.countEvents(source))
    },
    listDead: async (limit = LIST_LIMIT) => {
      requireLimit('listDead.limit', limit)
      return act((store) => store.operators.listDead(limit))
    },
    retry: async (eventId) => {
      requireText('retry.eventId', eventId, 'the id of an event')
      return act((store) => store.operators.retryEvent(eventId))
    },
    listSteps: async (eventId) => {
      requireText('listSteps.eventId', eventId, 'the id of an event')
      return act((store) => store.steps.list(eventId))
    },
    resolveStep: async (eventId, name, decision) => {
      requireText('resolveStep.eventId', eventId, 'the id of an event')
      requireText('resolveStep.step', name, 'the name of a step')
      const { happened, result, handler } = requireDecision(decision)
      const written = happened
        ? { happened, result: stringifyStepResult(name, result) }
        : { happened }
      return act((store) => store.steps.resolve({ eventId, handler, name, decision: written }))
    },
    forget: async (eventId) => {
      requireText('forget.eventId', eventId, 'the id of an event')
      const isForgotten = await act((store) => store.operators.forgetEvent(eventId))
      onForgotten(eventId)
      return isForgotten
    },
  }
}

function createMessageOperator(
  act: Act,
  onSendable: OperatorContext['onSendable'],
): Pick<Operator, MessageActions> {
  /** The same, for what leaves something to send. */
  const actAndSend: Act = async (action) => {
    const result = await act(action)
    onSendable()
    return result
  }
  return {
    findMessage: async (id) => {
      requireText('findMessage.id', id, 'the id of a message')
      return act((store) => store.messages.find(id))
    },
    listMessages: async (query) => {
      const resolved = requireMessageQuery(query)
      return act((store) => store.messages.list(resolved))
    },
    retryMessage: async (id) => {
      requireText('retryMessage.id', id, 'the id of a message')
      return actAndSend((store) => store.messages.retry(id))
    },
    confirmMessage: async (id) => {
      requireText('confirmMessage.id', id, 'the id of a message')
      return act((store) => store.messages.confirm(id))
    },
    discardMessage: async (id) => {
      requireText('discardMessage.id', id, 'the id of a message')
      return act((store) => store.messages.discard(id))
    },
    pauseDestination: async (name, reason) => {
      requireDestination('pauseDestination.name', name)
      requireText('pauseDestination.reason', reason, 'a text')
      // PostgreSQL's text cannot hold a NUL.
      const kept = reason.replaceAll('\u0000', '\ufffd')
      return act((store) => store.messages.pauseDestination(name, kept))
    },
    resumeDestination: async (name) => {
      requireDestination('resumeDestination.name', name)
      return actAndSend((store) => store.messages.resumeDestination(name))
    },
    listPausedDestinations: async () => act((store) => store.messages.listPausedDestinations()),
  }
}
