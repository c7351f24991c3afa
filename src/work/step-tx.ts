/**
 * A step that writes: what it writes and the fact that it is done commit together, and only under the lease.
 *
 * @module
 */

import { CommitUnknownError, HookonceError, StoreUnavailableError } from '../errors.ts'
import { findContention } from '../store/contention.ts'
import type { StepTransaction } from '../store/steps-contract.ts'
import { HandlerTimeoutError } from './run-event.ts'
import { StepRefusedError } from './step-errors.ts'
import type { StepTurn } from './step-history.ts'
import { parseStepResult, stringifyStepResult } from './step-result.ts'
import type { StepScope } from './step-scope.ts'

export interface TxStep<Tx> {
  readonly kind: 'tx' | 'send'
  readonly name: string
  readonly work: (tx: Tx) => unknown
  /** How long it may take. */
  readonly timeoutMs: number
}

/** Deadlocks and serialization failures are nobody's fault: tried again in place, without a lost attempt. */
const IN_PLACE_MAX = 5
/** The database's own time-out comes later than ours, which says better what is wrong. */
const IDLE_MARGIN_MS = 1_000

export async function runTxStep<Tx>(scope: StepScope<Tx>, step: TxStep<Tx>): Promise<unknown> {
  scope.life.requireLive()
  const turn = scope.history.next(step.kind, step.name)
  if (turn.kept !== undefined) return parseStepResult(turn.kept.result)
  for (let tries = 1; ; tries += 1) {
    try {
      return await scope.context.permits.use(() => tryStep(scope, turn, step))
    } catch (error) {
      if (findContention(error) === undefined || tries >= IN_PLACE_MAX) throw error
    }
  }
}

async function tryStep<Tx>(
  scope: StepScope<Tx>,
  turn: StepTurn,
  step: TxStep<Tx>,
): Promise<unknown> {
  const { life, leased, handler } = scope
  // While it waited for its turn, the handler may have run out of time.
  life.requireLive()
  const { position, name } = turn
  const transaction = await scope.context.store.openStep({
    lease: leased.lease,
    handler: handler.name,
    position,
    name,
    kind: step.kind,
    idleTimeoutMs: step.timeoutMs + IDLE_MARGIN_MS,
  })
  if (transaction === undefined) throw life.lose()
  let result: string | undefined
  try {
    const value = await runLent(scope, transaction, step)
    result = stringifyStepResult(name, value)
    requireOpen(transaction, name)
  } catch (error) {
    const isGone = transaction.status() === 'ended' && !life.hasEnded
    await transaction.abandon()
    throw isGone ? ended(name, error) : error
  }
  const committed = await transaction.commit(result)
  switch (committed.status) {
    case 'committed':
      return parseStepResult(result)
    case 'refused':
      if (findContention(committed.error) !== undefined) throw committed.error
      throw new StepRefusedError(name, committed.error)
    case 'unknown':
      return findOut(scope, turn, committed.error)
  }
}

async function runLent<Tx>(
  { life }: StepScope<Tx>,
  transaction: StepTransaction<Tx>,
  { name, work, timeoutMs }: TxStep<Tx>,
): Promise<unknown> {
  const lent = transaction.lend()
  const running = (async () => {
    try {
      return await work(lent.tx)
    } finally {
      await lent.revoke()
    }
  })()
  try {
    return await life.withTimeout(running, timeoutMs, `step.tx(${JSON.stringify(name)})`)
  } catch (error) {
    lent.revokeNow()
    // If it has not ended, its statement has to be stopped before the transaction can be.
    if (error instanceof HandlerTimeoutError || life.hasEnded)
      await transaction.cancel().catch(() => undefined)
    throw error
  }
}

/**
 * The connection was lost at COMMIT: what is kept tells. Should the commit come later still, the next attempt
 * finds the step's place taken, and fails once more instead of doing it twice.
 */
async function findOut<Tx>(
  { context, leased, handler }: StepScope<Tx>,
  { position }: StepTurn,
  error: Error,
): Promise<unknown> {
  const { eventId, run } = leased.lease
  const records = await context.store.listSteps(eventId, run).catch(() => [])
  const kept = records.find(
    (record) => record.handler === handler.name && record.position === position,
  )
  if (kept?.state === 'done') return parseStepResult(kept.result)
  throw error instanceof CommitUnknownError ? error : new CommitUnknownError({ cause: error })
}

function requireOpen<Tx>(transaction: StepTransaction<Tx>, step: string): void {
  switch (transaction.status()) {
    case 'open':
      return
    case 'failed':
      throw new HookonceError(
        'TRANSACTION_ABORTED',
        `The transaction of step ${JSON.stringify(step)} was aborted by an earlier error that the step swallowed: nothing of it can be kept, so let such an error through`,
      )
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
