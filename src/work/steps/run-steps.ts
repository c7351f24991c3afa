/**
 * The path of an event that is leased: from the lease to its end, outside any transaction.
 *
 *     leased ─▶ what earlier attempts left ─▶ handlers, step by step ─▶ settled, if the lease still holds
 *
 * What this module promises:
 *
 * - Whatever is written is written under the lease, by the store. A run whose lease is lost ends and writes
 *   nothing.
 * - Every other end is settled: done, skipped, tried again, dead; or given back, when the worker is stopped.
 * - A transactional handler of the same event runs as one step, so that its writes happen once as well.
 *
 * What it leaves to others: how a step is taken (`step-tx.ts`, `step-call.ts`), how many run at once
 * (`step-runner.ts`), and all SQL (`store/`).
 *
 * @module
 */

import type { WebhookEvent } from '../../model/event.ts'
import type { StepRecord } from '../../model/step.ts'
import type { LeasedEvent, LeasedSettlement } from '../../store/contract/steps.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createEnvelope } from '../../model/envelope.ts'
import type { Handler, HandlerUnit } from '../handler-unit.ts'
import { InterruptedError } from '../../flow/interruption.ts'
import type { Interruption } from '../../flow/interruption.ts'
import { findEarlyEnd } from '../find-early-end.ts'
import { HandlerTimeoutError } from '../handler-timeout-error.ts'
import { runInOrder } from '../run-in-order.ts'
import { RunningContext } from '../running-context.ts'
import type { RunResult } from '../run-result.ts'
import { settlementOf } from '../settlement.ts'
import { createStepContext } from './create-step-context.ts'
import { failedSteps, LeaseLostError } from './step-errors.ts'
import { StepHistory } from './step-history.ts'
import { StepLife } from './step-life.ts'
import { runCallStep } from './step-call.ts'
import type { StepRunContext, StepScope } from './step-scope.ts'
import { runTxStep } from './step-tx.ts'
import { heed, Skip } from '../../model/handler-results.ts'

export interface RunStepsContext<Tx> extends StepRunContext<Tx> {
  readonly logger: Logger
  readonly interruption: Interruption
  readonly findUnit: (event: LeasedEvent) => HandlerUnit | undefined
  readonly keepsResult: (source: string) => boolean
}

/** What is to be written for an event, and the error behind it. `undefined` when the lease is lost. */
export interface StepsEnd {
  readonly settlement: LeasedSettlement['settlement']
  readonly error: Error | undefined
}

/** Runs the handlers of a leased event. Never throws. */
export async function runSteps<Tx>(
  context: RunStepsContext<Tx>,
  leased: LeasedEvent,
): Promise<StepsEnd | undefined> {
  const { eventId, run } = leased
  const unit = context.findUnit(leased)
  if (unit === undefined)
    return {
      settlement: { state: 'unhandled', eventId, run },
      error: undefined,
    }
  // The code was changed since the event was recorded as one for steps.
  if (!unit.isSteps) return { settlement: { state: 'regrouped' }, error: undefined }
  // Its handler had no order when it was leased first: a group sorts it.
  if (unit.order !== undefined && leased.lane === undefined)
    return { settlement: { state: 'regrouped' }, error: undefined }
  // One that never crashed has more attempts behind it than it may have by now, and ends by its own error.
  if (leased.attempt > unit.attemptsMax && leased.crashes > 0) return crashedInTheEnd(leased)
  try {
    const startedMs = performance.now()
    const ended = findEarlyEnd(leased, unit)
    const result = { ...(ended ?? (await runHandlers(context, leased, unit))), startedMs }
    const error = result.status === 'failed' ? result.error : undefined
    return { settlement: settlementOf(leased, unit, result), error }
  } catch (error) {
    if (error instanceof LeaseLostError) return undefined
    const settlement = { state: 'given-back' } as const
    return { settlement, error: error instanceof Error ? error : undefined }
  }
}

/** Every attempt was counted when it began, and the last one did not come to its end. */
function crashedInTheEnd(leased: LeasedEvent): StepsEnd {
  const { eventId, run } = leased
  const attempt = leased.attempt - 1
  const message = 'The process died during the last attempt'
  const failure = { attempt, reason: 'crashed', message, durationMs: 0 } as const
  return {
    settlement: { state: 'dead', eventId, run, attempt, durationMs: 0, reason: 'crashed', failure },
    error: undefined,
  }
}

/** @throws InterruptedError, LeaseLostError */
async function runHandlers<Tx>(
  context: RunStepsContext<Tx>,
  leased: LeasedEvent,
  unit: HandlerUnit,
): Promise<RunResult> {
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  let records: readonly StepRecord[] | undefined
  const result = await runInOrder(unit, {
    call: async (handler) => {
      records ??= await listRecords(context, leased)
      return runHandler(context, { leased, handler, records })
    },
    fail: (error, handler) => {
      if (error instanceof InterruptedError || error instanceof LeaseLostError) throw error
      return failedSteps(error, handler, elapsed())
    },
    keepsResult: context.keepsResult(leased.source),
  })
  // Messages of steps have left when their step was committed.
  return result.status === 'failed' ? result : { ...result, durationMs: elapsed(), hasSent: false }
}

async function listRecords<Tx>(
  { store }: RunStepsContext<Tx>,
  { eventId, run, hasSteps }: LeasedEvent,
): Promise<readonly StepRecord[]> {
  return hasSteps ? store.steps.list(eventId, run) : []
}

interface HandlerRun {
  readonly leased: LeasedEvent
  readonly handler: Handler
  readonly records: readonly StepRecord[]
}

async function runHandler<Tx>(context: RunStepsContext<Tx>, run: HandlerRun): Promise<unknown> {
  const life = new StepLife()
  const running = runInside(context, run, life)
  running.catch(() => undefined)
  const aborted = watchAbort(context, run.handler, life)
  try {
    return await Promise.race([running, aborted.ended])
  } finally {
    aborted.stop()
  }
}

async function runInside<Tx>(
  context: RunStepsContext<Tx>,
  { leased, handler, records }: HandlerRun,
  life: StepLife,
): Promise<unknown> {
  const envelope = await createEnvelope(leased, handler.schema)
  const own = records.filter((record) => record.handler === handler.name)
  const scope: StepScope<Tx> = {
    context,
    leased,
    handler,
    settings: handler.steps ?? { txTimeoutMs: handler.timeoutMs, reconcile: undefined },
    envelope,
    fetched: await fetchCurrent(handler, { envelope, own, life }),
    history: new StepHistory(own),
    life,
  }
  try {
    const value =
      handler.steps === undefined
        ? await runAsStep(scope, context.logger)
        : heed(await handler.run(envelope, createStepContext(scope, context.logger)))
    await life.finish()
    scope.history.requireAllTaken()
    return value
  } catch (error) {
    // The results of other calls that are under way are still kept, so that none of them stays uncertain.
    await life.finish().catch(() => undefined)
    throw error
  }
}

/**
 * Calls `fetch` outside any transaction. Not for a handler that is one step and is done: what it gives would not be
 * used.
 */
async function fetchCurrent(
  { fetch, steps, timeoutMs }: Handler,
  { envelope, own, life }: { envelope: WebhookEvent; own: readonly StepRecord[]; life: StepLife },
): Promise<unknown> {
  if (fetch === undefined) return undefined
  if (steps === undefined && own.some(({ state }) => state === 'done')) return undefined
  return life.withTimeout(async ({ signal }) => fetch(envelope, { signal }), timeoutMs, 'fetch')
}

/** For a handler made with `on`: its transaction is one step, or one call where it may happen twice. */
async function runAsStep<Tx>(scope: StepScope<Tx>, logger: Logger): Promise<unknown> {
  const { handler, leased, envelope } = scope
  const name = 'handler'
  const run = async (
    abortion: { readonly signal: AbortSignal },
    lent?: { readonly tx: Tx },
    onSent?: () => void,
  ) => {
    const { store, outbox } = scope.context
    const { fetched } = scope
    const parts = { logger, store, outbox, event: leased, handler, lent, abortion, fetched }
    const running = new RunningContext<Tx>(parts)
    try {
      const value = heed(await handler.run(envelope, running))
      if (await running.writeMessages()) onSent?.()
      return value instanceof Skip ? { skipped: value.reason } : { value }
    } finally {
      running.close()
    }
  }
  const timeoutMs = handler.timeoutMs
  const kept =
    handler.guarantee === 'at-least-once'
      ? await runCallStep(scope, {
          name,
          options: { timeoutMs, keyLifetimeMs: FOR_EVER_MS },
          work: (call) => run(call),
        })
      : await runTxStep(scope, {
          kind: 'tx',
          name,
          timeoutMs,
          work: (tx, onSent, own) => run(own, { tx }, onSent),
        })
  const { value, skipped } = kept as KeptValue
  return skipped === undefined ? value : new Skip(skipped)
}

interface KeptValue {
  readonly value?: unknown
  readonly skipped?: string
}

/** Such a handler may happen twice, so that its key has no end. */
const FOR_EVER_MS = 315_360_000_000

/** Rejects when the handler's time is up, the worker is stopped for good, or the lease is lost. */
function watchAbort<Tx>(
  { interruption }: RunStepsContext<Tx>,
  { steps, timeoutMs }: Handler,
  life: StepLife,
): { readonly ended: Promise<never>; readonly stop: () => void } {
  let stop = (): void => undefined
  const ended = new Promise<never>((_, reject) => {
    // A handler that is one step has the step's time-out.
    const timer =
      steps === undefined
        ? undefined
        : setTimeout(() => life.abort(new HandlerTimeoutError(timeoutMs)), timeoutMs)
    const stopListening = interruption.onInterrupt(() => life.abort(new InterruptedError()))
    const forget = life.onAbort(reject)
    stop = () => {
      clearTimeout(timer)
      stopListening()
      forget()
    }
  })
  ended.catch(() => undefined)
  return { ended, stop: () => stop() }
}
