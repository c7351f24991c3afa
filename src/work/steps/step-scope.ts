import type { WebhookEvent } from '../../model/event.ts'
import type { Store } from '../../store/contract/store.ts'
import type { CallEntry, CallWritten, LeasedEvent } from '../../store/contract/steps.ts'
import type { HappeningEmitter } from '../../telemetry/emitter.ts'
import type { Combiner } from '../../flow/combiner.ts'
import type { Handler, StepSettings } from '../handler-unit.ts'
import { deriveIdempotencyKey } from '../../model/idempotency-key.ts'
import type { HandlerOutbox } from '../outgoing.ts'
import type { StepHistory, HistoryEntry } from './step-history.ts'
import type { StepLife } from './step-life.ts'

/** What steps need of the worker. */
export interface StepRunContext<Tx> {
  readonly store: Pick<Store<Tx, unknown>, 'steps' | 'bindTx' | 'runBound'>
  readonly outbox: HandlerOutbox<Tx>
  readonly happenings: HappeningEmitter
  /** Runs a step that writes, maybe together with others. */
  readonly runInTransaction: (waiting: WaitingStep<Tx>) => Promise<unknown>
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
  /** What the handler's `fetch` returned. */
  readonly fetched: unknown
  readonly history: StepHistory
  readonly life: StepLife
}

export interface TxStep<Tx> {
  readonly kind: 'tx' | 'send'
  readonly name: string
  /** Calls `onSent` when it has written a message. The signal of `own` aborts when the step's time is up. */
  readonly work: (tx: Tx, onSent: () => void, own: { readonly signal: AbortSignal }) => unknown
  /** How long it may take. */
  readonly timeoutMs: number
}

/** A step that waits for its transaction. */
export interface WaitingStep<Tx> {
  readonly scope: StepScope<Tx>
  readonly entry: HistoryEntry
  readonly step: TxStep<Tx>
}

/** The same for every attempt, and what `idempotencyKey(name)` gives. */
export function keyOfStep<Tx>({ leased, handler }: StepScope<Tx>, name: string): string {
  return deriveIdempotencyKey({ keyHash: leased.keyHash, handler: handler.name, name })
}
