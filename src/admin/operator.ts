/**
 * What an operator can do. Every action goes through the inbox's store, never around it.
 *
 * @module
 */

import type { EventId } from '../model/event.ts'
import type { EventRecord } from '../model/outcome.ts'
import type { Store } from '../store/contract.ts'

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
  /**
   * Drops the event's key, so that the sender's redelivery runs afresh. This process knows at once; others
   * may answer from memory until their next heartbeat, a second later, three at most. The event itself,
   * and what it has done, stay. `false` when there is no such event.
   */
  forget(eventId: EventId): Promise<boolean>
}

export interface OperatorContext {
  readonly store: Store<unknown>
  readonly open: () => Promise<void>
  readonly onForgotten: (eventId: EventId) => void
}

export function createOperator({ store, open, onForgotten }: OperatorContext): Operator {
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
    async forget(eventId) {
      await open()
      const isForgotten = await store.forgetEvent(eventId)
      onForgotten(eventId)
      return isForgotten
    },
  }
}
