/**
 * The guard's promise, in one function:
 *
 *     two-phase:     claim a lease ─▶ run ─▶ swap the lease for a mark
 *                       │ held: busy    │ throws: give it back    │ lost, or Redis away: unmarked
 *                       │ marked: duplicate
 *
 *     after-commit:  look ─▶ run ─▶ mark
 *
 * A process that dies between the end of the work and the mark leaves a lease that expires, and the
 * work runs again: without a transaction around both there is always such a moment. See
 * `docs/guides/redis.md`; `test/guard/crash.test.ts` shows it.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { asError, StoreUnavailableError } from '../errors.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'
import type { Entries, Held, Mark } from './entries.ts'
import type { Entry } from './entry.ts'
import { readResult, writeResult } from './kept-result.ts'
import type { Kept } from './kept-result.ts'
import { Lease } from './lease.ts'
import type { MemoryPolicy } from './memory-policy.ts'
import type { ResolvedGuardOptions } from './options.ts'

/** What became of one call. */
export type OnceOutcome<T> =
  /** It ran here, and later deliveries are duplicates. */
  | { readonly status: 'done'; readonly result: T }
  /** It was done before. `result` is what that run returned, where it was kept. */
  | { readonly status: 'duplicate'; readonly result: Kept<T> | undefined }
  /** Another delivery runs it now. Not a duplicate: if that run fails, it must run again. */
  | { readonly status: 'busy'; readonly retryInMs: number }
  /** It ran here, but nothing says so: the next delivery will run it again, or is running it. */
  | {
      readonly status: 'unmarked'
      readonly result: T
      readonly reason: 'lease-lost' | 'unavailable'
    }
  /** Redis was away and it ran all the same, as `whenUnavailable: 'run'` asks. */
  | { readonly status: 'unguarded'; readonly result: T }

/** What the work gets. */
export interface OnceContext {
  /** Aborts when the lease is lost: from then on another may run the same. Hand it to what you call. */
  readonly signal: AbortSignal
  /**
   * A key for an outside call, the same whenever this event runs again. Give each outside call its own
   * name. With it, the other side can tell the repetition that the guard cannot prevent.
   */
  idempotencyKey(name?: string): string
}

export interface RunOnceContext {
  readonly entries: Entries
  readonly memory: MemoryPolicy
  readonly options: ResolvedGuardOptions
  readonly happenings: HappeningEmitter
}

type Work<T> = (context: OnceContext) => T | Promise<T>

/**
 * @throws StoreUnavailableError when Redis does not answer and nothing was run
 * @throws HookonceError with the code STORE_UNSAFE when Redis may evict marks; nothing was run
 * @throws what the work throws, after its lease was given back
 */
export async function runOnce<T>(
  context: RunOnceContext,
  entry: Entry,
  work: Work<T>,
): Promise<OnceOutcome<T>> {
  const token = randomUUID()
  const claimedAt = performance.now()
  let held: Held | undefined
  try {
    held = await enter(context, entry, token)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    if (context.options.whenUnavailable === 'refuse') throw error
    return runUnguarded(context, entry, work, error)
  }
  if (held !== undefined) return leaveAlone(context, entry, held)
  return context.options.mode === 'two-phase'
    ? runLeased(context, entry, work, { token, claimedAt })
    : runUnleased(context, entry, work, token)
}

/** What keeps us out, or nothing. */
async function enter(
  { entries, memory, options }: RunOnceContext,
  { redisKey }: Entry,
  token: string,
): Promise<Held | undefined> {
  await memory.require(redisKey)
  if (options.mode === 'two-phase') {
    const claimed = await entries.claim(redisKey, token)
    return claimed === 'claimed' ? undefined : claimed
  }
  const found = await entries.read(redisKey)
  return found !== 'absent' && found.status === 'done' ? found : undefined
}

function leaveAlone<T>(
  { happenings }: RunOnceContext,
  { source, key, fingerprint }: Entry,
  held: Held,
): OnceOutcome<T> {
  if (held.status === 'running') {
    happenings.emit('guard.busy', { source, key, retryInMs: held.expiresInMs })
    return { status: 'busy', retryInMs: held.expiresInMs }
  }
  const isConflict =
    fingerprint !== undefined && held.fingerprint !== undefined && fingerprint !== held.fingerprint
  happenings.emit(isConflict ? 'guard.conflict' : 'guard.duplicate', { source, key })
  return { status: 'duplicate', result: readResult(held.result) as Kept<T> | undefined }
}

async function runLeased<T>(
  context: RunOnceContext,
  entry: Entry,
  work: Work<T>,
  { token, claimedAt }: { readonly token: string; readonly claimedAt: number },
): Promise<OnceOutcome<T>> {
  const { entries, options, happenings } = context
  const { source, key, redisKey } = entry
  const lease = new Lease(entries, { key: redisKey, token, claimedAt }, options)
  let result: T
  try {
    result = await work(workContext(entry, lease.signal))
  } catch (error) {
    lease.end()
    // If Redis is away it expires by itself. What the work threw is what the caller must hear of.
    await entries.giveBack(redisKey, token).catch(() => undefined)
    happenings.emit('guard.failed', { source, key, error: asError(error) })
    throw error
  }
  lease.end()
  const mark = draftMark(context, entry, token, result)
  const marked = await completeUntil(entries, redisKey, mark, lease.heldUntil)
  if (marked !== 'marked') {
    const reason = marked === 'lost' ? 'lease-lost' : 'unavailable'
    happenings.emit('guard.unmarked', { source, key, reason })
    return { status: 'unmarked', result, reason }
  }
  happenings.emit('guard.done', { source, key, durationMs: performance.now() - claimedAt })
  return { status: 'done', result }
}

/** The work is done, so it is worth trying for as long as the lease can still be ours. */
async function completeUntil(
  entries: Entries,
  redisKey: string,
  mark: Mark,
  heldUntil: number,
): Promise<'marked' | 'lost' | 'unavailable'> {
  for (let pauseMs = 20; ; pauseMs *= 2) {
    try {
      return await entries.complete(redisKey, mark)
    } catch {
      if (performance.now() + pauseMs >= heldUntil) return 'unavailable'
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

async function runUnleased<T>(
  context: RunOnceContext,
  entry: Entry,
  work: Work<T>,
  token: string,
): Promise<OnceOutcome<T>> {
  const { source, key } = entry
  const startedAt = performance.now()
  const result = await runReporting(context, entry, work)
  try {
    await context.entries.mark(entry.redisKey, draftMark(context, entry, token, result))
  } catch {
    context.happenings.emit('guard.unmarked', { source, key, reason: 'unavailable' })
    return { status: 'unmarked', result, reason: 'unavailable' }
  }
  const durationMs = performance.now() - startedAt
  context.happenings.emit('guard.done', { source, key, durationMs })
  return { status: 'done', result }
}

async function runUnguarded<T>(
  context: RunOnceContext,
  entry: Entry,
  work: Work<T>,
  error: Error,
): Promise<OnceOutcome<T>> {
  context.happenings.emit('guard.unguarded', { source: entry.source, key: entry.key, error })
  return { status: 'unguarded', result: await runReporting(context, entry, work) }
}

/** Without a lease there is none to lose: the signal never aborts. */
async function runReporting<T>(
  { happenings }: RunOnceContext,
  entry: Entry,
  work: Work<T>,
): Promise<T> {
  try {
    return await work(workContext(entry, new AbortController().signal))
  } catch (error) {
    happenings.emit('guard.failed', {
      source: entry.source,
      key: entry.key,
      error: asError(error),
    })
    throw error
  }
}

function draftMark(
  { options, happenings }: RunOnceContext,
  { source, key, fingerprint }: Entry,
  token: string,
  result: unknown,
): Mark {
  const written = writeResult(result, options.resultBytesMax)
  if (written.status === 'dropped') {
    happenings.emit('guard.result-dropped', { source, key, reason: written.reason })
  }
  return { token, fingerprint, result: written.status === 'kept' ? written.text : undefined }
}

function workContext({ keyHash }: Entry, signal: AbortSignal): OnceContext {
  return {
    signal,
    // An inbox handler named `guard` derives the same, so that moving to an inbox changes no key.
    idempotencyKey: (name = '') => deriveIdempotencyKey({ keyHash, handler: 'guard', name }),
  }
}
