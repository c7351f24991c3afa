/**
 * How the transaction of one step that writes, or of several, goes: what they write and the fact that they are
 * done commit together, and only under their leases.
 *
 * @module
 */

import {
  asReadable,
  CommitUnknownError,
  HookonceError,
  SettingRefusedError,
  StoreUnavailableError,
  TracesLeftError,
  TransactionAbortedError,
} from '../../errors.ts'
import type { Store } from '../../store/contract/store.ts'
import type { OpenStep, StepResult, StepTransaction } from '../../store/contract/steps.ts'
import { HandlerTimeoutError } from '../handler-timeout-error.ts'
import { StepRefusedError } from './step-errors.ts'
import { parseStepResult, stringifyStepResult } from '../../store/contract/step-result.ts'
import type { StepScope, TxStep, WaitingStep } from './step-scope.ts'

/** The database's own time-out comes later than ours, which says better what is wrong. */
const IDLE_MARGIN_MS = 1_000
/** For how long a shared transaction goes on starting steps. */
export const TOGETHER_BUDGET_MS = 100
/** Beside others a step may wait this long for a row that another transaction holds. */
const TOGETHER_LOCK_TIMEOUT_MS = 50

/** What the transaction of a step needs of the store. */
export type SteppingStore<Tx> = Pick<Store<Tx, unknown>, 'steps' | 'findTrouble'>

export async function runTxStep<Tx>(scope: StepScope<Tx>, step: TxStep<Tx>): Promise<unknown> {
  scope.life.requireLive()
  const entry = scope.history.next(step.kind, step.name)
  if (entry.kept !== undefined) return parseStepResult(entry.kept.result)
  return scope.context.runInTransaction({ scope, entry, step })
}

/** How long a step took. */
export type Measure = (handler: string, durationMs: number) => void

/** A step that waits, and who waits for it. */
export interface Waiter<Tx> extends WaitingStep<Tx> {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export async function settle<Tx>(
  { resolve, reject }: Waiter<Tx>,
  running: Promise<unknown>,
): Promise<void> {
  await running.then(resolve, reject)
}

/** Returns the steps that have to be run alone after all. Throws when all of them have. */
export async function tryTogether<Tx>(
  store: SteppingStore<Tx>,
  steps: readonly Waiter<Tx>[],
  measure: Measure,
): Promise<readonly Waiter<Tx>[]> {
  const transaction = await store.steps.open(steps.map(asOpenStep), {
    idleTimeoutMs: Math.max(...steps.map(({ step }) => step.timeoutMs)) + IDLE_MARGIN_MS,
    lockTimeoutMs: TOGETHER_LOCK_TIMEOUT_MS,
  })
  if (transaction === undefined) return steps
  const results: (StepResult | undefined)[] = steps.map(() => undefined)
  let hasSent = false
  const startedAt = performance.now()
  let running = ''
  try {
    for (const [at, waiting] of steps.entries()) {
      if (performance.now() - startedAt > TOGETHER_BUDGET_MS) break
      if (transaction.held[at] !== true || waiting.scope.life.hasEnded) continue
      running = waiting.scope.handler.name
      results[at] = await runInside(transaction, waiting, {
        measure,
        onSent: () => (hasSent = true),
      })
    }
    const traces = await transaction.findTraces()
    if (traces !== undefined) throw new TracesLeftError(traces)
  } catch (error) {
    await transaction.abandon()
    // Others would run with the setting.
    if (error instanceof SettingRefusedError) measure(running, Infinity)
    throw error
  }
  const committed = await transaction.commit(results)
  if (committed.status === 'refused') throw committed.error
  if (hasSent) steps[0]?.scope.context.outbox.onCommitted()
  const rest: Waiter<Tx>[] = []
  for (const [at, waiting] of steps.entries()) {
    const result = results[at]
    if (result === undefined) rest.push(waiting)
    else if (committed.status === 'committed') waiting.resolve(parseStepResult(result.text))
    else await settle(waiting, findOut(waiting, committed.error))
  }
  return rest
}

/** `looks`: whether it may be the one that leaves something behind, and should not share a transaction again. */
export async function tryStep<Tx>(
  store: SteppingStore<Tx>,
  waiting: WaitingStep<Tx>,
  { measure, looks }: { measure: Measure; looks: boolean },
): Promise<unknown> {
  const { life } = waiting.scope
  const { name } = waiting.entry
  // While it waited, the handler may have run out of time.
  life.requireLive()
  const transaction = await store.steps.open([asOpenStep(waiting)], {
    idleTimeoutMs: waiting.step.timeoutMs + IDLE_MARGIN_MS,
    lockTimeoutMs: 0,
  })
  if (transaction === undefined) throw life.lose()
  let result: StepResult
  let hasSent = false
  try {
    result = await runInside(transaction, waiting, { measure, onSent: () => (hasSent = true) })
    if (looks && (await transaction.findTraces()) !== undefined)
      measure(waiting.scope.handler.name, Infinity)
  } catch (error) {
    const isGone = transaction.status() === 'ended' && !life.hasEnded
    await transaction.abandon()
    throw isGone ? ended(name, error) : error
  }
  const committed = await transaction.commit([result])
  if (hasSent && committed.status !== 'refused') waiting.scope.context.outbox.onCommitted()
  switch (committed.status) {
    case 'committed':
      return parseStepResult(result.text)
    case 'refused':
      if (store.findTrouble(committed.error) === 'contended') throw committed.error
      throw new StepRefusedError(name, committed.error)
    case 'unknown':
      return findOut(waiting, committed.error)
  }
}

async function runInside<Tx>(
  transaction: StepTransaction<Tx>,
  { scope, entry, step }: WaitingStep<Tx>,
  { measure, onSent }: { measure: Measure; onSent: () => void },
): Promise<StepResult> {
  const startedAt = performance.now()
  const value = await runLent(scope, transaction, { ...step, onSent })
  const text = stringifyStepResult(entry.name, value)
  requireOpen(transaction, entry.name)
  measure(scope.handler.name, performance.now() - startedAt)
  return { text }
}

async function runLent<Tx>(
  { life }: StepScope<Tx>,
  transaction: StepTransaction<Tx>,
  { name, work, timeoutMs, onSent }: TxStep<Tx> & { readonly onSent: () => void },
): Promise<unknown> {
  const lent = transaction.lend()
  const run = async (own: { readonly signal: AbortSignal }) => {
    try {
      const value = await work(lent.tx, onSent, own)
      lent.requireClosed()
      await lent.flush()
      return value
    } catch (error) {
      throw lent.findImposed() ?? error
    } finally {
      await lent.revoke()
    }
  }
  try {
    return await life.withTimeout(run, timeoutMs, `step.tx(${JSON.stringify(name)})`)
  } catch (thrown) {
    const error = asReadable(thrown)
    lent.revokeNow()
    // If it has not ended, its statement has to be stopped before the transaction can be.
    if (error instanceof HandlerTimeoutError || life.hasEnded)
      await transaction.cancel().catch(() => undefined)
    throw error
  }
}

function asOpenStep<Tx>({ scope, entry, step }: WaitingStep<Tx>): OpenStep {
  const { position, name } = entry
  return {
    lease: scope.leased.lease,
    handler: scope.handler.name,
    position,
    name,
    kind: step.kind,
  }
}

/**
 * The connection was lost at COMMIT: what is kept tells. Should the commit come later still, the next attempt
 * finds the step's place taken, and fails once more instead of doing it twice.
 */
async function findOut<Tx>({ scope, entry }: WaitingStep<Tx>, error: Error): Promise<unknown> {
  const { context, leased, handler } = scope
  const { eventId, run } = leased.lease
  const records = await context.store.steps.list(eventId, run).catch(() => [])
  const kept = records.find(
    (record) => record.handler === handler.name && record.position === entry.position,
  )
  if (kept?.state === 'done') return parseStepResult(kept.result)
  throw error instanceof CommitUnknownError ? error : new CommitUnknownError({ cause: error })
}

function requireOpen<Tx>(transaction: StepTransaction<Tx>, step: string): void {
  switch (transaction.status()) {
    case 'open':
      return
    case 'failed':
      throw new TransactionAbortedError(`The transaction of step ${JSON.stringify(step)}`)
    case 'lost':
      throw new StoreUnavailableError(
        `The connection was lost in step ${JSON.stringify(step)}. If it waited for something outside, that belongs in a step.call or in the outbox`,
      )
    case 'ended':
      throw ended(step, undefined)
  }
}

function ended(step: string, cause: unknown): HookonceError {
  return new HookonceError(
    'TRANSACTION_ENDED',
    `Step ${JSON.stringify(step)} ended the transaction it was given (COMMIT, ROLLBACK or BEGIN): its writes and its result can no longer commit together`,
    { cause },
  )
}
