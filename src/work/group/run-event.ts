/**
 * Runs the handlers of one event, in a transaction that is lent to them, and says how it went.
 *
 * Expected ends are values: done, skipped, failed. What happens to the transaction afterwards is the
 * caller's business (`work/run-group.ts`).
 *
 * @module
 */

import { asError, HookonceError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { FailureReason } from '../../model/outcome.ts'
import { describeStale, isStale } from '../../ordering/is-stale.ts'
import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Store } from '../../store/contract/store.ts'
import type { StoreTrouble } from '../../store/contract/store-trouble.ts'
import type { HandlerClock, LentTx } from '../../store/contract/transaction.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createEnvelope } from '../../model/envelope.ts'
import type { Handler, HandlerUnit } from '../handler-unit.ts'
import { Abortion, InterruptedError } from '../../flow/interruption.ts'
import type { Interruption } from '../../flow/interruption.ts'
import type { HandlerOutbox } from '../outgoing.ts'
import type { RetryPolicy } from '../../model/retry-policy.ts'
import { RunClock } from '../run-clock.ts'
import { RunningContext } from '../running-context.ts'
import { heed, PermanentError, Skip } from '../../model/handler-results.ts'

export type RunResult = RunDone | RunSkipped | RunFailed

interface RunTimes {
  /** The handlers' own time. */
  readonly durationMs: number
  /** By `performance.now()`; left out where that cannot be told. */
  readonly startedMs?: number | undefined
}

export interface RunDone extends RunTimes {
  readonly status: 'done'
  readonly result: string | undefined
  /** Whether it has written messages that can leave after COMMIT. */
  readonly hasSent: boolean
}

export interface RunSkipped extends RunTimes {
  readonly status: 'skipped'
  readonly reason: string
  readonly hasSent: boolean
}

export interface RunFailed extends RunTimes {
  readonly status: 'failed'
  readonly reason: FailureReason
  readonly error: Error
  /** The name of the handler that failed, where that can be told. */
  readonly handler: string | undefined
  /** When it runs again, by the handler that failed. */
  readonly retry: RetryPolicy
  /** Whether trying again cannot help. */
  readonly isPermanent: boolean
  /** What the store says of the error, where it is not the handler's own. */
  readonly trouble: StoreTrouble | undefined
}

export interface RunEventContext {
  readonly store: Pick<Store<unknown>, 'queue' | 'findTrouble' | 'bindTx' | 'runBound'>
  readonly logger: Logger
  readonly outbox: HandlerOutbox<unknown>
  /** Whether the outcome of this source's events is answered to the sender, so that results are kept. */
  readonly keepsResult: (source: string) => boolean
  /** Tells when the worker is stopped for good; nothing is to be counted then. */
  readonly interruption: Interruption
}

/** Lends the transaction, stops what is running in it. */
export interface TxLender<Tx> {
  lend(clock?: HandlerClock): LentTx<Tx>
  cancel(): Promise<void>
}

interface EventRun<Tx> {
  readonly event: ClaimedEvent
  readonly unit: HandlerUnit
  readonly lender: TxLender<Tx> | undefined
  /** The caller flushes. */
  readonly defersWrites?: boolean
}

export async function runEvent<Tx>(
  context: RunEventContext,
  eventRun: EventRun<Tx>,
): Promise<RunResult> {
  const startedMs = performance.now()
  const stale = findStale(eventRun.event, eventRun.unit)
  if (stale !== undefined) return { ...stale, startedMs }
  return { ...(await runHandlers(context, eventRun)), startedMs }
}

/**
 * Whether a later version was applied. What was is known from the claim, and stays so: no other event of the lane
 * runs meanwhile, and this one writes its version when it is settled.
 */
export function findStale({ lane }: ClaimedEvent, { order }: HandlerUnit): RunSkipped | undefined {
  if (order?.mode !== 'latest' || lane?.version === undefined) return undefined
  const { version, applied } = lane
  if (!isStale(version, applied)) return undefined
  const reason = describeStale(version, applied)
  return { status: 'skipped', reason, durationMs: 0, hasSent: false }
}

async function runHandlers<Tx>(
  context: RunEventContext,
  { event, unit, lender, defersWrites = false }: EventRun<Tx>,
): Promise<RunResult> {
  const clocks: RunClock[] = []
  const elapsed = () => clocks.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0)
  const values: unknown[] = []
  let hasSent = false
  const onSent = (): void => {
    hasSent = true
  }
  for (const handler of unit.handlers) {
    const clock = new RunClock(handler.timeoutMs)
    clocks.push(clock)
    try {
      const call = { event, handler, lender, defersWrites, clock, onSent }
      values.push(await callHandler(context, call))
    } catch (thrown) {
      const error = asError(thrown)
      if (error instanceof InterruptedError) throw error
      const trouble = context.store.findTrouble(error)
      return failedRun(error, handler, { durationMs: elapsed(), trouble })
    }
  }
  const durationMs = elapsed()
  try {
    return { ...combineResults(values, context.keepsResult(event.source)), durationMs, hasSent }
  } catch (error) {
    return failedRun(error, unit.handlers[0] as Handler, { durationMs })
  }
}

/**
 * What the handlers of an event returned, as one: one handler that had something to do makes the event done.
 *
 * @throws HookonceError `RESULT_INVALID`
 */
export function combineResults(
  values: readonly unknown[],
  keepsResult: boolean,
): Pick<RunDone, 'status' | 'result'> | Pick<RunSkipped, 'status' | 'reason'> {
  const skipped = values.find((value) => value instanceof Skip)
  if (skipped !== undefined && values.every((value) => value instanceof Skip))
    return { status: 'skipped', reason: skipped.reason }
  return { status: 'done', result: keepsResult ? stringifyResult(values) : undefined }
}

interface HandlerCall<Tx> {
  readonly event: ClaimedEvent
  readonly handler: Handler
  readonly lender: TxLender<Tx> | undefined
  readonly defersWrites: boolean
  readonly clock: RunClock
  /** The handler has messages, which are written. */
  readonly onSent: () => void
}

async function callHandler<Tx>(context: RunEventContext, call: HandlerCall<Tx>): Promise<unknown> {
  const lender = call.handler.guarantee === 'at-least-once' ? undefined : call.lender
  const lent = lender?.lend(call.clock)
  const abortion = new Abortion()
  const running = runHandler(context, call, lent, abortion)
  const end = await endOf(running, call.clock, context.interruption)
  if (end.status === 'ended') {
    if ('error' in end) throw end.error
    return end.value
  }
  // The handler may still be running: it gets the signal, and nothing it does from here on counts.
  abortion.abort(end.error)
  lent?.revokeNow()
  running.catch(() => undefined)
  // If it cannot be cancelled, the next statement waits for it and then the connection is given up.
  await lender?.cancel().catch(() => undefined)
  throw end.error
}

/** All of it counts towards the handler's time: a slow schema, and statements it did not wait for. */
async function runHandler<Tx>(
  context: RunEventContext,
  call: HandlerCall<Tx>,
  lent: LentTx<Tx> | undefined,
  abortion: Abortion,
): Promise<unknown> {
  const { event, handler } = call
  const { logger, store, outbox } = context
  const running = new RunningContext({ logger, store, outbox, event, handler, lent, abortion })
  try {
    const envelope = await createEnvelope(event, handler.schema)
    const run = (): unknown => handler.run(envelope, running)
    const value = heed(await (lent === undefined ? run() : store.runBound(lent.tx, run)))
    lent?.requireClosed()
    if (await running.writeMessages()) call.onSent()
    if (!call.defersWrites) await lent?.flush()
    return value
  } catch (error) {
    // A library may have wrapped it, and what it is decides how the event goes on.
    throw lent?.findImposed() ?? error
  } finally {
    running.close()
    await lent?.revoke()
  }
}

type CallEnd =
  | { readonly status: 'ended'; readonly value: unknown }
  | { readonly status: 'ended'; readonly error: unknown }
  | { readonly status: 'overdue'; readonly error: Error }

export function endOf(
  running: Promise<unknown>,
  clock: RunClock,
  interruption: Interruption,
): Promise<CallEnd> {
  return new Promise((resolve) => {
    const finish = (end: CallEnd) => {
      clock.stop()
      stopListening()
      resolve(end)
    }
    clock.start(() =>
      finish({ status: 'overdue', error: new HandlerTimeoutError(clock.timeoutMs) }),
    )
    const stopListening = interruption.onInterrupt(() =>
      finish({ status: 'overdue', error: new InterruptedError() }),
    )
    running.then(
      (value) => finish({ status: 'ended', value }),
      (error: unknown) => finish({ status: 'ended', error }),
    )
  })
}

export class HandlerTimeoutError extends HookonceError {
  override readonly name = 'HandlerTimeoutError'

  constructor(timeoutMs: number, what = 'The handler') {
    // These two are where waiting for something outside belongs.
    const waitsOutside = what === 'fetch' || what.startsWith('step.call(')
    const advice = waitsOutside
      ? 'Hand its signal on to what it waits for, so that this ends with it; timeoutMs gives it longer'
      : 'If it waited for something outside the database, that belongs in the outbox (send) or in a step.call'
    super('HANDLER_TIMEOUT', `${what} did not end within ${timeoutMs} ms. ${advice}`, {
      retryable: true,
    })
  }
}

export function failedRun(
  thrown: unknown,
  handler: Handler,
  { durationMs, startedMs, trouble }: RunTimes & { trouble?: StoreTrouble | undefined },
): RunFailed {
  const error = asError(thrown)
  const code = error instanceof HookonceError ? error.code : undefined
  return {
    status: 'failed',
    reason: reasonOf(code),
    error,
    handler: handler.name,
    retry: handler.retry,
    // The same handler returns the same thing for the same event: trying again would not help.
    isPermanent: error instanceof PermanentError || (code !== undefined && PERMANENT.has(code)),
    trouble,
    durationMs,
    startedMs,
  }
}

const PERMANENT: ReadonlySet<ErrorCode> = new Set([
  'MESSAGE_MISMATCH',
  'PAYLOAD_INVALID',
  'RESULT_INVALID',
])

function reasonOf(code: ErrorCode | undefined): FailureReason {
  switch (code) {
    case 'HANDLER_TIMEOUT':
      return 'timeout'
    case 'PAYLOAD_INVALID':
      return 'payload'
    case 'TRANSACTION_ABORTED':
      return 'transaction'
    default:
      return 'error'
  }
}

/** One handler: its value. Several: the list of theirs, in the order they were registered. */
function stringifyResult(values: readonly unknown[]): string | undefined {
  const value =
    values.length === 1 ? values[0] : values.map((each) => (each instanceof Skip ? null : each))
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new HookonceError(
      'RESULT_INVALID',
      'What the handler returned cannot be written as JSON',
      { cause: error },
    )
  }
  if (text !== undefined && text.length > RESULT_LENGTH_MAX) {
    throw new HookonceError(
      'RESULT_INVALID',
      `What the handler returned is longer than ${RESULT_LENGTH_MAX} characters of JSON`,
    )
  }
  return text
}

const RESULT_LENGTH_MAX = 65_536
