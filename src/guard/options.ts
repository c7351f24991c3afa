import { OptionInvalidError, RetentionTooShortError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { SourceMap } from '../model/event-types.ts'
import { isSourceName } from '../model/source-name.ts'
import { resolveReceiveOptions } from '../receive/options.ts'
import type { ReceiveOptions, ResolvedReceiveOptions } from '../receive/options.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { RedisClient } from './redis-client.ts'

/** A sender whose deliveries are verified elsewhere; only how long it retries matters here. */
export interface RetryingSource {
  /** How long the sender goes on retrying by itself; `null` when that is not known. */
  readonly retryWindowHours: number | null
}

/** Sources by name: those of `hookonce/providers`, or just a retry window for use with `once` alone. */
export type GuardSourceMap = Readonly<Record<string, SourceMap[string] | RetryingSource>>

/** What a guard is made of. Only `redis` and `sources` are needed. */
export interface GuardOptions<Sources extends GuardSourceMap> {
  /** A connected client of `redis` or `ioredis`, single or cluster. The guard never closes it. */
  readonly redis: RedisClient
  /** The senders, by the name that is part of each event's identity. */
  readonly sources: Sources
  /**
   * - `two-phase`: a lease keeps others out while the work runs, then a mark says that it is done.
   * - `after-commit`: no lease, only the mark. Deliveries at the same time all run, so the work must
   *   be one that may: setting a value, writing under a fixed id.
   *
   * @defaultValue 'two-phase'
   */
  readonly mode?: 'two-phase' | 'after-commit'
  /**
   * What to do while Redis does not answer: `refuse` runs nothing and lets the sender come again;
   * `run` runs everything without a guard, duplicates included.
   *
   * @defaultValue 'refuse'
   */
  readonly whenUnavailable?: 'refuse' | 'run'
  /**
   * How long a mark is kept. A delivery after that runs again, so it must not be shorter than the
   * time for which any of the sources retries (72 h where that is not known).
   *
   * @defaultValue 30
   */
  readonly retentionDays?: number
  /**
   * How long a lease is good for before another delivery may run. It bounds how long an event waits
   * after a crash, not how long the work may take: a live process renews it every third of this time.
   *
   * @defaultValue 30_000
   */
  readonly leaseMs?: number
  /**
   * For how long a lease is renewed at most. Work that takes longer has its signal aborted, and the
   * next delivery may run beside it.
   *
   * @defaultValue 900_000
   */
  readonly runMsMax?: number
  /**
   * How long Redis may take to answer one command before it counts as unavailable.
   *
   * @defaultValue 2_000
   */
  readonly commandTimeoutMs?: number
  /**
   * The largest result that is kept, in bytes of JSON. A larger one is marked without it.
   *
   * @defaultValue 65_536
   */
  readonly resultBytesMax?: number
  /**
   * What every key in Redis begins with.
   *
   * @defaultValue 'hookonce:'
   */
  readonly prefix?: string
  /**
   * Accept a Redis that evicts when its memory is full: done events whose mark is evicted run again. Without
   * it such a Redis is refused.
   *
   * @defaultValue false
   */
  readonly allowUnsafe?: boolean
  /** What the middleware lets in. Left out, the defaults of `ReceiveOptions`. */
  readonly receive?: Pick<
    ReceiveOptions,
    'bodyBytesMax' | 'bodyTimeoutMs' | 'inFlightBytesMax' | 'eventsMax'
  >
  /** Gets a line for everything that happens. Left out, warnings and errors go to the console. */
  readonly logger?: Logger
}

export const GUARD_DEFAULTS = Object.freeze({
  mode: 'two-phase',
  whenUnavailable: 'refuse',
  retentionDays: 30,
  leaseMs: 30_000,
  runMsMax: 900_000,
  commandTimeoutMs: 2_000,
  resultBytesMax: 65_536,
  prefix: 'hookonce:',
  allowUnsafe: false,
} as const)

const RECEIVE_NAMES = ['bodyBytesMax', 'bodyTimeoutMs', 'inFlightBytesMax', 'eventsMax']

/** What is assumed when a sender's retry window is not known. Most senders whose window is known retry for less. */
const RETRY_WINDOW_HOURS_ASSUMED = 72

export interface ResolvedGuardOptions {
  readonly mode: 'two-phase' | 'after-commit'
  readonly whenUnavailable: 'refuse' | 'run'
  readonly retentionMs: number
  readonly leaseMs: number
  readonly runMsMax: number
  readonly commandTimeoutMs: number
  readonly resultBytesMax: number
  readonly prefix: string
  readonly allowUnsafe: boolean
  readonly receive: ResolvedReceiveOptions
}

export function resolveGuardOptions(options: GuardOptions<GuardSourceMap>): ResolvedGuardOptions {
  if (typeof options !== 'object' || options === null) {
    throw new OptionInvalidError('createGuard', 'given an object with redis and sources', options)
  }
  const { redis: _redis, sources, logger: _logger, receive = {}, ...rest } = options
  rejectUnknownKeys('createGuard', rest, [
    'redis',
    'sources',
    ...Object.keys(GUARD_DEFAULTS),
    'receive',
    'logger',
  ])
  rejectUnknownKeys('createGuard.receive', receive, RECEIVE_NAMES)
  const resolved = { ...GUARD_DEFAULTS, ...rest }
  requireOneOf('createGuard.mode', resolved.mode, ['two-phase', 'after-commit'])
  requireOneOf('createGuard.whenUnavailable', resolved.whenUnavailable, ['refuse', 'run'])
  requireInteger('createGuard.retentionDays', resolved.retentionDays, { min: 1, max: 36_500 })
  requireInteger('createGuard.leaseMs', resolved.leaseMs, { min: 100, max: 86_400_000 })
  requireInteger('createGuard.runMsMax', resolved.runMsMax, { min: resolved.leaseMs })
  // A claim whose answer took as long as the lease would be no claim any more.
  requireInteger('createGuard.commandTimeoutMs', resolved.commandTimeoutMs, {
    min: 1,
    max: resolved.leaseMs - 1,
  })
  requireInteger('createGuard.resultBytesMax', resolved.resultBytesMax, { min: 0, max: 16_777_216 })
  requirePrefix(resolved.prefix)
  requireOneOf('createGuard.allowUnsafe', resolved.allowUnsafe, [true, false])
  requireGuardSources(sources)
  requireRetention(sources, resolved.retentionDays)
  const { retentionDays, ...others } = resolved
  return Object.freeze({
    ...others,
    retentionMs: retentionDays * 86_400_000,
    receive: resolveReceiveOptions(receive),
  })
}

/** Braces in front of ours would decide the slot, and put every key of the guard on one node. */
function requirePrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && !/[{}]/.test(prefix)) return
  throw new OptionInvalidError('createGuard.prefix', 'a text without { and }', prefix)
}

function requireGuardSources(sources: GuardSourceMap): void {
  if (
    typeof sources !== 'object' ||
    sources === null ||
    Object.keys(sources).length === 0 ||
    Array.isArray(sources)
  ) {
    throw new OptionInvalidError('createGuard.sources', 'at least one source by its name', sources)
  }
  for (const [name, source] of Object.entries(sources)) {
    const option = `createGuard.sources.${name}`
    if (!isSourceName(name)) {
      throw new OptionInvalidError(option, 'named with a-z, 0-9, - and _ only', name)
    }
    const hours: unknown = (source as RetryingSource | undefined)?.retryWindowHours
    const isWindow = hours === null || (typeof hours === 'number' && hours >= 0)
    if (!isWindow) {
      throw new OptionInvalidError(
        option,
        'a source, such as stripe({ secrets: […] }), or { retryWindowHours }',
        source,
      )
    }
    if (!('verify' in source)) rejectUnknownKeys(option, source, ['retryWindowHours'])
  }
}

function requireRetention(sources: GuardSourceMap, retentionDays: number): void {
  for (const [source, { retryWindowHours }] of Object.entries(sources)) {
    const hours = retryWindowHours ?? RETRY_WINDOW_HOURS_ASSUMED
    if (retentionDays * 24 >= hours) continue
    throw new RetentionTooShortError({
      option: 'createGuard.retentionDays',
      source,
      retentionDays,
      retryWindowHours: hours,
      isAssumed: retryWindowHours === null,
    })
  }
}
