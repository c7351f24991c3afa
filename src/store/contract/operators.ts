import type { EventId } from '../../model/event.ts'
import type { EventRecord } from '../../model/outcome.ts'

/** What a store must do for those who look at events, or decide about them. */
export interface OperatorStore {
  /** The event with all that is known of it. */
  findEvent(eventId: EventId): Promise<EventRecord | undefined>
  /** The body of the whole request that brought the event. It is kept once, however many events were parts of it. */
  findRequest(eventId: EventId): Promise<Uint8Array | undefined>
  /** By the sender's key: the event, and the conflicts and quarantined ones kept beside it, oldest first. */
  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]>
  /** How many events are stored, of one source or of all. */
  countEvents(source?: string): Promise<number>
  /** Drops the event's keys and bumps the epoch, so that the sender's redelivery runs afresh everywhere. */
  forgetEvent(eventId: EventId): Promise<boolean>
  /** The events that are `dead`, latest first. */
  listDead(limit: number): Promise<readonly EventRecord[]>
  /** Queues a dead event again with its attempts at zero. `false` when it is not dead. */
  retryEvent(eventId: EventId): Promise<boolean>
}
