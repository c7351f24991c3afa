import type { Operator } from '../admin/operator.ts'
import type { AnyHappeningListener } from '../telemetry/emitter.ts'

/** What is needed of an inbox. */
export interface MeasuredInbox {
  /** Where it tells what happens. */
  readonly events: { onAny(listener: AnyHappeningListener): () => void }
  /** How things stand. */
  readonly admin: Pick<Operator, 'stats'>
  /** The names of its sources. */
  readonly sourceNames: readonly string[]
  /** Whether it takes deliveries. */
  isReady(): boolean
  /** By how much the clock of this process is ahead of the store's, in milliseconds, once that is known. */
  readonly clockSkewMs?: number | undefined
}
