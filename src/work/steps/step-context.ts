/**
 * What a step handler gets beside the event. Types only.
 *
 * @module
 */

import type { WebhookEvent } from '../../model/event.ts'
import type { SendOptions } from '../../model/message.ts'
import type { AnySends, SendMap } from '../../model/sends.ts'
import type { HandlerContext } from '../handler-context.ts'

/** What a step handler gets beside the event: the steps it can take, and what other handlers get as well. */
export interface StepContext<
  Tx,
  Fetched = undefined,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> extends Omit<HandlerContext<Tx, Fetched, Sql>, 'tx' | 'sql' | 'send'> {
  /**
   * Writes in a transaction that also keeps the step's result: exactly once, whatever crashes.
   *
   * Nothing outside the database belongs in it. What it returns must survive JSON; a retry gets the same.
   */
  tx<Result>(
    name: string,
    work: (tx: Tx, context: StepTxContext<Sql, Sends>) => Promise<Result> | Result,
  ): Promise<Result>

  /**
   * Does something outside the database: at least once, always with the same idempotency key.
   *
   * That it was started is kept before, its result right after. An error leaves its outcome uncertain,
   * unless it is `notDone(reason)`.
   */
  call<Result>(
    name: string,
    work: (context: StepCallContext) => Promise<Result> | Result,
  ): Promise<Result>
  call<Result>(
    name: string,
    options: CallOptions,
    work: (context: StepCallContext) => Promise<Result> | Result,
  ): Promise<Result>

  /** Puts a message into the outbox, as a step of its own. Inside a `step.tx` use the `send` that it is given. */
  send<Name extends keyof Sends & string>(
    destination: Name,
    payload: Sends[Name],
    options?: SendOptions,
  ): Promise<void>

  /** The number of the lease: larger than that of every lease before it. For resources that can check it. */
  readonly token: number
}

/** What the function of a `step.tx` gets beside the transaction. */
export interface StepTxContext<Sql = unknown, Sends extends SendMap = AnySends> {
  /** The same transaction as the store lends it, for plain SQL, `write` and `savepoint`. */
  readonly sql: Sql
  /** Puts a message into the outbox, in the step's transaction. */
  send<Name extends keyof Sends & string>(
    destination: Name,
    payload: Sends[Name],
    options?: SendOptions,
  ): Promise<void>
  /** Aborts when the step's time is up. */
  readonly signal: AbortSignal
}

/** What the function of a `step.call` gets. */
export interface StepCallContext {
  /** The same for every attempt: give it to the service you call. */
  readonly idempotencyKey: string
  /** Aborts when the call's or the handler's time is up, or the lease is lost. Hand it to what you call. */
  readonly signal: AbortSignal
  /** How often the call was started, this time included. */
  readonly starts: number
}

/** How a `step.call` is made. */
export interface CallOptions {
  /**
   * For how long the other side remembers idempotency keys. A call whose outcome has been uncertain for
   * longer is not made again: the event is dead with the reason `unknown`, for a person to look at. With 0 it never is,
   * which is at most once.
   *
   * @defaultValue 86_400_000
   */
  readonly keyLifetimeMs?: number
  /**
   * How long one call may take; its outcome is uncertain then. Left out, the handler's `timeoutMs` counts.
   */
  readonly timeoutMs?: number
}

/** A call that an earlier attempt has started. Whether it happened is not known. */
export interface UncertainStep {
  readonly name: string
  readonly idempotencyKey: string
  /** How often it was started. */
  readonly starts: number
  readonly startedAt: Date
}

/**
 * What `reconcile` found: it happened, with the result that the step shall have; it did not; or nothing.
 */
export type Reconciled =
  { readonly happened: true; readonly result?: unknown } | { readonly happened: false } | undefined

/**
 * Looks whether a call has happened that an earlier attempt has started and not finished. What it throws fails
 * the attempt, and the call is not made.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- handlers of every payload live in one list
export type Reconcile<Payload = any> = (
  event: WebhookEvent<Payload>,
  step: UncertainStep,
) => Promise<Reconciled> | Reconciled
