import type { UnreadableError } from '../../errors.ts'
import type { DeliveryHeaders } from '../../model/delivery.ts'
import type { EventId } from '../../model/event.ts'
import type { OrderText } from '../../model/order-text.ts'
import type { StoredBody } from '../../model/stored-body.ts'
import type { Topic } from '../../model/topic.ts'
import type { LaneId } from '../../ordering/lane-id.ts'
import type { OrderMode } from '../../ordering/order.ts'

/** An event as a worker gets it. */
export interface ClaimedEvent {
  readonly eventId: EventId
  readonly run: number
  /** The attempt that is about to run, from 1. */
  readonly attempt: number
  readonly crashes: number
  readonly source: string
  readonly key: string
  /**
   * What idempotency keys follow from, as hex: the hash by which the store knows the event (source, scope and key);
   * for a replay with fresh keys, one of the run.
   */
  readonly keyHash: string
  readonly type: string
  readonly topic: Topic
  readonly body: StoredBody
  readonly headers: DeliveryHeaders
  readonly receivedAt: Date
  readonly occurredAt: Date | undefined
  /** What rises when the object changes, where the sender says so. */
  readonly version: OrderText | undefined
  /** The sender's count of its events, where it keeps one. */
  readonly sequence: OrderText | undefined
  /** The label of the secret that verified it. */
  readonly verifiedBy: string
  /** Whether an operator has replaced the body, for this run. */
  readonly isModified: boolean
  /** Why its body and headers cannot be decrypted, and are empty. Left out where they are here. */
  readonly unreadable?: UnreadableError
  /** The lane that it was sorted into; `undefined` for one that has no order, or was not sorted yet. */
  readonly lane?: ClaimedLane | undefined
}

/** The lane of an event, as it is while no other event of the lane runs. */
export interface ClaimedLane {
  readonly id: LaneId
  readonly mode: OrderMode
  /** What its handler's `order.lane` returned. */
  readonly key: string
  /** For `latest`: the event's version, and the one that was applied last. */
  readonly version: OrderText | undefined
  readonly applied: OrderText | undefined
  /** Whether it was claimed with others of its lane that come before it: it may run when they are done, not else. */
  readonly isBehind: boolean
}

/** How many events of a topic are asked for. */
export interface TopicShare {
  readonly topic: Topic
  readonly limit: number
}
