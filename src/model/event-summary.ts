import type { EventId } from './event.ts'
import type { EventState } from './event-state.ts'

/**
 * An event in a list: what tells it from others, without its body. `admin.show` has the rest.
 *
 * The texts come from senders and handlers, and each is cut at 1,024 characters: a page of a thousand events must
 * fit into memory, whatever they carry.
 */
export interface EventSummary {
  readonly id: EventId
  readonly source: string
  readonly type: string
  /** The sender's key; `undefined` where it gave none. */
  readonly key: string | undefined
  /** That of its latest run. */
  readonly state: EventState
  /** Why it is parked, or why it ended as it did. */
  readonly reason: string | undefined
  /** The latest run, from 0. */
  readonly run: number
  /** Of the latest run. */
  readonly attempts: number
  readonly crashes: number
  /** What its last failed attempt said: the error's name and message. */
  readonly error: string | undefined
  /** The handler that failed last. */
  readonly handler: string | undefined
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  /** When it is due, while it waits for a worker. */
  readonly nextRunAt: Date | undefined
  /** When it came to rest. */
  readonly settledAt: Date | undefined
  /** How large its body is. */
  readonly bodyBytes: number
}
