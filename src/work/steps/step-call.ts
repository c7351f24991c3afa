/**
 * A step that does something outside the database.
 *
 *     "started" is committed ─▶ the call, with its key ─▶ its result is committed
 *
 * If the process dies in between, the next attempt knows that the call may have happened, and since when.
 * It asks `reconcile`, or makes the call again with the same key, or stops when the other side may have
 * forgotten the key: then a person has to find out whether it happened.
 *
 * @module
 */

import { asReadable, HookonceError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireInteger } from '../../options/require-integer.ts'
import type { StepRecord } from '../../model/step.ts'
import type { CallEntry, CallWritten } from '../../store/contract/steps.ts'
import { retryWrite } from '../../flow/retry-write.ts'
import type { CallOptions, Reconciled, StepCallContext } from './step-context.ts'
import type { HistoryEntry } from './step-history.ts'
import { parseStepResult, stringifyStepResult } from '../../store/contract/step-result.ts'
import { keyOfStep } from './step-scope.ts'
import type { StepScope } from './step-scope.ts'
import { NotDoneError } from '../../model/handler-results.ts'

export interface CallStep {
  readonly name: string
  readonly options: CallOptions
  readonly work: (context: StepCallContext) => unknown
}

const CALL_DEFAULTS = Object.freeze({ keyLifetimeMs: 86_400_000 } as const)
/** Ten years: for callees that never forget a key. */
const KEY_LIFETIME_MS_MAX = 315_360_000_000

export async function runCallStep<Tx>(
  scope: StepScope<Tx>,
  { name, options, work }: CallStep,
): Promise<unknown> {
  const { life } = scope
  life.requireLive()
  const { keyLifetimeMs, timeoutMs } = resolveCallOptions(options)
  const entry = scope.history.next('call', name)
  const { kept } = entry
  if (kept?.state === 'done') return parseStepResult(kept.result)

  const idempotencyKey = keyOfStep(scope, name)
  const found = kept?.state === 'started' ? await reconcile(scope, kept) : undefined
  if (found?.happened === true) return keep(scope, entry, found.result)

  const change = found?.happened === false ? 'restarted' : 'started'
  const isInDoubt = change === 'started' && kept?.state === 'started'
  const { uncertainForMs } = await write(scope, entry, change)
  // What is never to be made again does not hang on a clock: the database's may have been set back since.
  if (isInDoubt && (keyLifetimeMs === 0 || uncertainForMs > keyLifetimeMs))
    throw unknownOutcome(name, uncertainForMs, keyLifetimeMs)
  life.requireLive()

  const starts = (kept?.starts ?? 0) + 1
  try {
    const value = await life.withTimeout(
      async ({ signal }) => work({ idempotencyKey, signal, starts }),
      timeoutMs,
      `step.call(${JSON.stringify(name)})`,
    )
    return await keep(scope, entry, value)
  } catch (thrown) {
    const error = asReadable(thrown)
    if (error instanceof NotDoneError) await write(scope, entry, 'refused')
    throw error
  }
}

async function reconcile<Tx>(scope: StepScope<Tx>, kept: StepRecord): Promise<Reconciled> {
  const { leased, settings, envelope, life, context } = scope
  const { name, starts, startedAt } = kept
  const idempotencyKey = keyOfStep(scope, name)
  const found = await settings.reconcile?.(envelope, { name, idempotencyKey, starts, startedAt })
  life.requireLive()
  const { eventId, source, key, type, attempt } = leased
  context.happenings.emit('step.uncertain', {
    ...{ eventId, source, key, type, attempt },
    ...{ step: name, starts, startedAt },
    found: found === undefined ? 'nothing' : found.happened ? 'happened' : 'did not happen',
  })
  return found
}

async function keep<Tx>(
  scope: StepScope<Tx>,
  entry: HistoryEntry,
  value: unknown,
): Promise<unknown> {
  const result = stringifyStepResult(entry.name, value)
  await write(scope, entry, 'done', result)
  return parseStepResult(result)
}

async function write<Tx>(
  { context, leased, handler, life }: StepScope<Tx>,
  { position, name }: HistoryEntry,
  change: CallEntry['change'],
  result?: string,
): Promise<CallWritten> {
  const add = () =>
    context.calls.add({
      lease: leased.lease,
      handler: handler.name,
      position,
      name,
      change,
      result,
    })
  // What is about to be done need not be done now. What was done is in doubt for as long as it is not written.
  const isFact = change === 'done' || change === 'refused'
  const written = isFact ? (await retryWrite(add)).answer : await add()
  if (written === undefined) throw life.lose()
  return written
}

function resolveCallOptions(
  options: CallOptions,
): CallOptions & { readonly keyLifetimeMs: number } {
  rejectUnknownKeys('step.call', options, ['keyLifetimeMs', 'timeoutMs'])
  const resolved = { ...CALL_DEFAULTS, ...options }
  requireInteger('step.call.keyLifetimeMs', resolved.keyLifetimeMs, {
    min: 0,
    max: KEY_LIFETIME_MS_MAX,
  })
  if (resolved.timeoutMs !== undefined)
    requireInteger('step.call.timeoutMs', resolved.timeoutMs, { min: 1, max: 3_600_000 })
  return resolved
}

function unknownOutcome(
  step: string,
  uncertainForMs: number,
  keyLifetimeMs: number,
): HookonceError {
  const hours = (ms: number) => `${(ms / 3_600_000).toFixed(1)} hours`
  const limit =
    keyLifetimeMs === 0
      ? 'it is not to be made twice'
      : `its idempotency key is remembered for ${hours(keyLifetimeMs)} only`
  return new HookonceError(
    'STEP_UNKNOWN',
    `unknown: the call ${JSON.stringify(step)} was started ${hours(uncertainForMs)} ago and whether it happened is not known; ${limit}. Look at the other side, then say so with admin.resolveStep`,
  )
}
