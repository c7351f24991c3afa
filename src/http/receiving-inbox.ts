import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'

/** The part of an inbox that an HTTP adapter needs. */
export interface ReceivingInbox {
  /** The options of `receive` with their defaults. */
  readonly receiveOptions: ResolvedReceiveOptions
  /** Takes one delivery and says what to answer. Never throws. */
  receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement>
  /** Throws `SOURCE_UNKNOWN` when no such source is configured. For adapters that are mounted per source. */
  requireSource(sourceName: string): void
  /** The methods a source takes; without it, POST is all. For adapters that route by method. */
  listMethods?(sourceName: string): readonly string[]
  /** Says in the log that something parsed the body before we could read its bytes. */
  reportBodyParsed(sourceName: string, hint: string): void
  /** Says in the log that a body was refused before it was read to its end. */
  reportUnread?(sourceName: string, reason: 'too-large' | 'too-slow'): void
  /** Whether the inbox takes deliveries now: the store answers and nobody has called `stop`. */
  isReady(): boolean
}
