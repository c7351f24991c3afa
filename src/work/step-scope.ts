import type { WebhookEvent } from '../model/event.ts'
import type { Store } from '../store/contract.ts'
import type { CallEntry, CallWritten, LeasedEvent } from '../store/steps-contract.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { Combiner } from './combiner.ts'
import type { Handler, StepSettings } from './handlers.ts'
import { deriveIdempotencyKey } from './idempotency-key.ts'
import type { Permits } from './permits.ts'
import type { StepHistory } from './step-history.ts'
import type { StepLife } from './step-life.ts'

/** What steps need of the worker. */
export interface StepRunContext<Tx> {
  readonly store: Pick<Store<Tx>, 'openStep' | 'listSteps' | 'enqueueMessages'>
  readonly happenings: HappeningEmitter
  readonly permits: Permits
  /** Writes what is known of calls, together with that of other events. */
  readonly calls: Combiner<CallEntry, CallWritten | undefined>
}

/** What the steps of one handler share, in one attempt at one event. */
export interface StepScope<Tx> {
  readonly context: StepRunContext<Tx>
  readonly leased: LeasedEvent
  readonly handler: Handler
  readonly settings: StepSettings
  readonly envelope: WebhookEvent
  readonly history: StepHistory
  readonly life: StepLife
}

/** The same for every attempt, and what `idempotencyKey(name)` gives. */
export function keyOfStep<Tx>({ leased, handler }: StepScope<Tx>, name: string): string {
  return deriveIdempotencyKey({ keyHash: leased.keyHash, handler: handler.name, name })
}
