import type { EventId } from '../../model/event.ts'
import type { EventRecord } from '../../model/outcome.ts'
import type { OperatorStore } from '../contract/operators.ts'
import type { Connections } from './connections.ts'
import { countEvents } from './sql/count-events.ts'
import { findEvent } from './sql/find-event.ts'
import { findRequest } from './sql/find-request.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { listDead } from './sql/list-dead.ts'
import { listEventsByKey } from './sql/list-events-by-key.ts'
import { retryEvent } from './sql/retry-event.ts'

/** The part of the store for those who look after events. */
export class SqliteOperators implements OperatorStore {
  readonly #connections: Connections

  constructor(connections: Connections) {
    this.#connections = connections
  }

  findEvent(eventId: EventId): Promise<EventRecord | undefined> {
    return this.#connections.read((reader) => findEvent(reader, eventId))
  }

  findRequest(eventId: EventId): Promise<Uint8Array | undefined> {
    return this.#connections.read((reader) => findRequest(reader, eventId))
  }

  listEventsByKey(source: string, key: string): Promise<readonly EventRecord[]> {
    return this.#connections.read((reader) => listEventsByKey(reader, { source, key }))
  }

  countEvents(source?: string): Promise<number> {
    return this.#connections.read((reader) => countEvents(reader, source))
  }

  forgetEvent(eventId: EventId): Promise<boolean> {
    return this.#connections.write('durably', (connection) => forgetEvent(connection, eventId))
  }

  listDead(limit: number): Promise<readonly EventRecord[]> {
    return this.#connections.read((reader) => listDead(reader, limit))
  }

  retryEvent(eventId: EventId): Promise<boolean> {
    return this.#connections.write('durably', (connection) => retryEvent(connection, eventId))
  }
}
