import type { DeliveryHeaders } from '../model/delivery.ts'
import type { EventId } from '../model/event.ts'

/** An event as a worker gets it. */
export interface ClaimedEvent {
  readonly eventId: EventId
  readonly run: number
  /** The attempt that is about to run, from 1. */
  readonly attempt: number
  readonly crashes: number
  readonly source: string
  readonly key: string
  /** The hash by which the store knows the event, as hex: source, scope and key. Idempotency keys follow from it. */
  readonly keyHash: string
  readonly type: string
  readonly body: Uint8Array
  readonly headers: DeliveryHeaders
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
}
