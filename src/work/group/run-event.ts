/**
 * Runs the handlers of one event, in a transaction that is lent to them, and says how it went.
 *
 * Expected ends are values: done, skipped, failed. What happens to the transaction afterwards is the
 * caller's business (`work/group/run-group.ts`).
 *
 * @module
 */

import type { ClaimedEvent } from '../../store/contract/claimed-event.ts'
import type { Store } from '../../store/contract/store.ts'
import type { HandlerClock, LentTx } from '../../store/contract/transaction.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createEnvelope } from '../../model/envelope.ts'
import { failedRun } from '../failed-run.ts'
import { findEarlyEnd } from '../find-early-end.ts'
import { HandlerTimeoutError } from '../handler-timeout-error.ts'
import type { Handler, HandlerUnit } from '../handler-unit.ts'
import { Abortion, InterruptedError } from '../../flow/interruption.ts'
import type { Interruption } from '../../flow/interruption.ts'
import type { HandlerOutbox } from '../outgoing.ts'
import { RunClock } from '../run-clock.ts'
import { runInOrder } from '../run-in-order.ts'
import type { RunResult } from '../run-result.ts'
import { RunningContext } from '../running-context.ts'
import { heed } from '../../model/handler-results.ts'

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
  const ended = findEarlyEnd(eventRun.event, eventRun.unit)
  if (ended !== undefined) return { ...ended, startedMs }
  return { ...(await runHandlers(context, eventRun)), startedMs }
}

async function runHandlers<Tx>(
  context: RunEventContext,
  { event, unit, lender, defersWrites = false }: EventRun<Tx>,
): Promise<RunResult> {
  const clocks: RunClock[] = []
  const elapsed = () => clocks.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0)
  let hasSent = false
  const onSent = (): void => {
    hasSent = true
  }
  const result = await runInOrder(unit, {
    call: (handler) => {
      const clock = new RunClock(handler.timeoutMs)
      clocks.push(clock)
      return callHandler(context, { event, handler, lender, defersWrites, clock, onSent })
    },
    fail: (error, handler) => {
      if (error instanceof InterruptedError) throw error
      const trouble = context.store.findTrouble(error)
      return failedRun(error, handler, { durationMs: elapsed(), trouble })
    },
    keepsResult: context.keepsResult(event.source),
  })
  return result.status === 'failed' ? result : { ...result, durationMs: elapsed(), hasSent }
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
