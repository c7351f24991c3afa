import type { EventId } from '../../model/event.ts'
import type { EventRecord } from '../../model/outcome.ts'
import type { OperatorStore } from '../contract/operators.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findRequest } from './sql/find-request.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { retryEvent } from './sql/retry-event.ts'

/** The part of the store for those who look after events. */
export class PostgresOperators implements OperatorStore {
  readonly #connections: Connections

  constructor(connections: Connections) {
    this.#connections = connections
  }

  async findEvent(eventId: EventId): Promise<EventRecord | undefined> {
    return isEventId(eventId)
      ? this.#connections.use(async (connection) => findEvent(connection, eventId))
      : undefined
  }

  async findRequest(eventId: EventId): Promise<Uint8Array | undefined> {
    return isEventId(eventId)
      ? this.#connections.use(async (connection) => findRequest(connection, eventId))
      : undefined
  }

  async listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]> {
    return this.#connections.use(async (connection) => listEventsByKey(connection, source, key))
  }

  async countEvents(source?: string): Promise<number> {
    return this.#connections.use(async (connection) => countEvents(connection, source))
  }

  async forgetEvent(eventId: EventId): Promise<boolean> {
    return (
      isEventId(eventId) &&
      this.#connections.transact(async (connection) => forgetEvent(connection, eventId))
    )
  }

  async listDead(limit: number): Promise<readonly EventRecord[]> {
    return this.#connections.use(async (connection) => listDead(connection, limit))
  }

  async retryEvent(eventId: EventId): Promise<boolean> {
    return (
      isEventId(eventId) &&
      this.#connections.transact(async (connection) => retryEvent(connection, eventId))
    )
  }
}
