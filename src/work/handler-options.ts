/**
 * How a handler of `on` and one of `steps` runs, as a user says it.
 *
 * @module
 */

import type { WebhookEvent } from '../model/event.ts'
import type { RetryOptions } from '../model/retry-policy.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import type { OrderOptions } from '../ordering/order.ts'
import type { Reconcile } from './steps/step-context.ts'

/** How a handler of `on` runs. */
export interface HandlerOptions<Output = unknown, Payload = AnyPayload> {
  /**
   * Tells the handler's idempotency keys apart from those of another handler for the same types, and
   * must not change while events are on their way. Needed only when two handlers share source and types.
   *
   * @defaultValue the types, joined by commas
   */
  readonly name?: string
  /**
   * - `exactly-once`: what the handler writes through `tx` and the fact "done" commit together.
   * - `at-least-once`: no `tx`; the handler may run again after a crash. For work that may happen twice.
   *
   * @defaultValue 'exactly-once'
   */
  readonly guarantee?: 'exactly-once' | 'at-least-once'
  /**
   * What the payload must be. One that is not is dead at once, with the paths of what is wrong. Left out, nothing
   * is checked.
   */
  readonly schema?: StandardSchema<Output>
  /** When a failed event runs again, and how often. Left out, twelve attempts over about three days. */
  readonly retry?: RetryOptions
  /**
   * How long one run may take: then its signal aborts, its statement is cancelled in the database and
   * its transaction rolled back.
   *
   * @defaultValue 10_000
   */
  readonly timeoutMs?: number
  /**
   * The most events of this handler that share a transaction. 1 for a handler that needs `SET`, or
   * that must not wait for its neighbours.
   *
   * @defaultValue 200
   */
  readonly groupMax?: number
  /**
   * How much of the worker's time this handler has, against the other handlers of its source, while all of them
   * have events waiting: one of weight 3 has three times as much as one of weight 1.
   *
   * @defaultValue 1
   */
  readonly weight?: number
  /** In which order the events of a lane run. Left out, that of its source, and where that has none as they come. */
  readonly order?: OrderOptions<Payload>
  /**
   * Asks for the current state of what the event is about, before the transaction opens; the handler gets it as
   * `ctx.fetched`. It has the handler's `timeoutMs`, and if it throws the attempt has failed. Left out, nothing is
   * fetched.
   */
  readonly fetch?: Fetch<Payload>
}

/** How a handler of `steps` runs. */
export interface StepHandlerOptions<Output = unknown, Payload = AnyPayload> extends Pick<
  HandlerOptions<Output, Payload>,
  'name' | 'schema' | 'retry' | 'weight' | 'order' | 'fetch'
> {
  /**
   * How long one run of the handler may take, all its steps together. Its lease is renewed for as long as the
   * process lives, so this is what ends a call that hangs.
   *
   * @defaultValue 300_000
   */
  readonly timeoutMs?: number
  /**
   * How long one `step.tx` may take: then its statement is cancelled in the database and it is rolled back.
   *
   * @defaultValue 10_000
   */
  readonly txTimeoutMs?: number
  /**
   * Asked before a call is made again that an earlier attempt has started and not finished: whether it has
   * happened. Check, then act. Left out, the call is made again with the same key.
   */
  readonly reconcile?: Reconcile
}

/** Asks for the current state of what an event is about. */
export type Fetch<Payload = AnyPayload> = (
  event: WebhookEvent<Payload>,
  context: { readonly signal: AbortSignal },
) => unknown

export const HANDLER_DEFAULTS = Object.freeze({
  guarantee: 'exactly-once',
  timeoutMs: 10_000,
  groupMax: 200,
  weight: 1,
} as const)

export const STEP_HANDLER_DEFAULTS = Object.freeze({
  timeoutMs: 300_000,
  txTimeoutMs: 10_000,
  weight: 1,
} as const)

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- options of every payload type are checked by one function
type AnyPayload = any
