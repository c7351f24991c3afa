import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { ByteBudget } from '../receive/byte-budget.ts'
import type { SourceLimits } from '../receive/limits.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'

export type { SourceLimits } from '../receive/limits.ts'

/** Why a body was not read to its end: `no-room` where those of others take all there is. */
export type UnreadReason = 'too-large' | 'too-slow' | 'no-room'

/** The part of an inbox that an HTTP adapter needs. */
export interface ReceivingInbox {
  /** The options of `receive` with their defaults. */
  readonly receiveOptions: ResolvedReceiveOptions
  /** What the bodies of all deliveries on their way share. */
  readonly inFlight: ByteBudget
  /** Takes one delivery and says what to answer. Never throws. */
  receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement>
  /** What a source takes; `undefined` when no such source is configured. */
  findSource(sourceName: string): SourceLimits | undefined
  /** The same, for adapters that are mounted per source. Throws `SOURCE_UNKNOWN` when there is none. */
  requireSource(sourceName: string): SourceLimits
  /** Says in the log that something parsed the body before we could read its bytes. */
  reportBodyParsed(sourceName: string, hint: string): void
  /** Says in the log that a body was refused before it was read to its end. */
  reportUnread?(sourceName: string, reason: UnreadReason): void
  /** Whether the inbox takes deliveries now: the store answers and `stop` was not called. */
  isReady(): boolean
  /** By how much the clock of this process is ahead of the store's, where the inbox has a store and it has answered. */
  readonly clockSkewMs?: number | undefined
}
