/**
 * The composition root of the guard: a Redis client and sources become something that runs each event
 * once, as far as that can be had without a transaction around the work and its mark.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import type { EventsOf, PayloadFor } from '../model/event-types.ts'
import type { ReceivingInbox, UnreadReason } from '../http/receiving-inbox.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { WebhookEvent } from '../model/event.ts'
import { requireSource } from '../model/require-source.ts'
import type { SecretUse } from '../model/secret-use.ts'
import type { Source } from '../model/source.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { ByteBudget } from '../receive/byte-budget.ts'
import { reportAnswered, reportParsed, reportUnread } from '../receive/report-answered.ts'
import { resolveSourceLimits } from '../receive/limits.ts'
import type { SourceLimits } from '../receive/limits.ts'
import { requireRoom } from '../receive/options.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'
import { SecretTally } from '../receive/secret-tally.ts'
import { HappeningEmitter } from '../telemetry/emitter.ts'
import { logHappenings, resolveLogger } from '../telemetry/logger.ts'
import { Entries } from './entries.ts'
import { entryOf } from './entry.ts'
import { MemoryPolicy } from './memory-policy.ts'
import { createMiddleware } from './middleware.ts'
import type { GuardedDelivery, GuardedDeliveries, Middleware } from './middleware.ts'
import { resolveGuardOptions } from './options.ts'
import type { GuardOptions, GuardSourceMap, ResolvedGuardOptions } from './options.ts'
import { answerByHandler, receiveGuarded } from './receive-guarded.ts'
import type { Answer, ReceiveGuardedContext } from './receive-guarded.ts'
import { toScriptClient } from './redis-client.ts'
import { runOnce } from './run-once.ts'
import type { OnceContext, OnceOutcome } from './run-once.ts'

/** The names of those sources that can verify a delivery. */
export type VerifyingNames<Sources extends GuardSourceMap> = {
  [Name in keyof Sources]: Sources[Name] extends { verify: unknown } ? Name : never
}[keyof Sources] &
  string

type PayloadOf<Source> = PayloadFor<EventsOf<Source>, '*'>

/**
 * Makes a guard. Nothing is sent to Redis before the first delivery.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 * @throws RetentionTooShortError when marks would be gone while a source may still retry
 */
export function createGuard<const Sources extends GuardSourceMap>(
  options: GuardOptions<Sources>,
): Guard<Sources> {
  return new Guard(options)
}

/** Runs each event once, by marks in Redis. Made by `createGuard`. It can be given to every HTTP adapter in place of an inbox. */
export class Guard<Sources extends GuardSourceMap> implements ReceivingInbox {
  /** Everything that happens, to listen to. */
  readonly events: Pick<HappeningEmitter, 'on' | 'onAny'>
  /** The options of `receive` with their defaults, for HTTP adapters. */
  readonly receiveOptions: ResolvedReceiveOptions
  /** What the bodies of all deliveries on their way take together, for HTTP adapters. */
  readonly inFlight: ByteBudget
  readonly #options: ResolvedGuardOptions
  readonly #entries: Entries
  readonly #memory: MemoryPolicy
  readonly #happenings = new HappeningEmitter()
  readonly #names: ReadonlySet<string>
  readonly #verifying: ReadonlyMap<string, Source>
  readonly #secrets: SecretTally
  readonly #context: ReceiveGuardedContext
  readonly #answers = new Map<string, Answer>()
  readonly #deliveries: GuardedDeliveries = new WeakMap()

  /** @internal */
  constructor(options: GuardOptions<Sources>) {
    this.#options = resolveGuardOptions(options)
    this.#entries = new Entries(toScriptClient(options.redis), this.#options)
    this.receiveOptions = this.#options.receive
    this.inFlight = new ByteBudget(this.receiveOptions.inFlightBytesMax)
    this.events = this.#happenings
    const sources = Object.entries(options.sources)
    this.#names = new Set(sources.map(([name]) => name))
    this.#verifying = new Map(
      sources.flatMap(([name, source]) => ('verify' in source ? [[name, source as Source]] : [])),
    )
    requireRoom(this.#verifying, this.receiveOptions)
    this.#memory = new MemoryPolicy({
      entries: this.#entries,
      allowUnsafe: this.#options.allowUnsafe,
      happenings: this.#happenings,
    })
    this.#secrets = new SecretTally(this.#verifying)
    this.#secrets.addConfigured()
    this.#context = {
      entries: this.#entries,
      secrets: this.#secrets,
      memory: this.#memory,
      options: this.#options,
      happenings: this.#happenings,
      admit: {
        sources: this.#verifying,
        options: this.receiveOptions,
        happenings: this.#happenings,
      },
    }
    logHappenings(this.#happenings, resolveLogger('createGuard.logger', options.logger))
    this.#reportWarnings()
  }

  /**
   * Runs `work` unless it is done, or running elsewhere.
   *
   * @param source - the name of a configured source
   * @param key - the sender's stable identity of the event, already verified
   * @throws StoreUnavailableError when Redis does not answer; nothing was run
   * @throws HookonceError with the code STORE_UNSAFE when Redis may evict marks; nothing was run
   * @throws what `work` throws; the event may then run again
   */
  async once<T>(
    source: keyof Sources & string,
    key: string,
    work: (context: OnceContext) => T | Promise<T>,
  ): Promise<OnceOutcome<T>> {
    requireSource(this.#names, source)
    requireKey('guard.once', key)
    if (typeof work !== 'function') {
      throw new OptionInvalidError('guard.once', 'given a function to run', work)
    }
    return runOnce(this.#context, entryOf(this.#options.prefix, source, key), work)
  }

  /**
   * A middleware for `(req, res, next)`: verifies the delivery over its raw bytes, keeps duplicates
   * from the route, and marks the event when the route answers 2xx. Must come before any body parser.
   *
   * Throws `SOURCE_UNKNOWN` at once when the guard has no such source, or one that cannot verify.
   */
  middleware(source: VerifyingNames<Sources>): Middleware {
    const context = { guard: this, receive: this.#context, deliveries: this.#deliveries }
    return createMiddleware(context, source)
  }

  /** What the middleware of this guard found in a request, for the route behind it. */
  delivered<Name extends VerifyingNames<Sources>>(
    source: Name,
    request: object,
  ): GuardedDelivery<PayloadOf<Sources[Name]>> {
    const found = this.#deliveries.get(request as IncomingMessage)
    if (found?.event.source === source) return found as GuardedDelivery<PayloadOf<Sources[Name]>>
    throw new OptionInvalidError(
      'guard.delivered',
      `given a request that came through guard.middleware('${source}')`,
      request,
    )
  }

  /**
   * Registers what runs for the events of a source, for use with an HTTP adapter:
   * `guard.on('stripe', handler)` and `expressHandler(guard, 'stripe')`. Return: it is done, and the
   * result kept. Throw: the sender is answered 500 and comes again.
   */
  on<Name extends VerifyingNames<Sources>>(
    source: Name,
    handler: (event: WebhookEvent<PayloadOf<Sources[Name]>>, context: OnceContext) => unknown,
  ): this {
    this.requireSource(source)
    if (typeof handler !== 'function') {
      throw new OptionInvalidError('guard.on', 'given a function to run', handler)
    }
    if (this.#answers.has(source)) {
      throw new OptionInvalidError('guard.on', `called once for "${source}"`, source)
    }
    this.#answers.set(source, answerByHandler(this.#context, handler as never))
    return this
  }

  /**
   * Drops an event's mark, so that the sender's redelivery runs afresh. One that is running is left
   * alone: a second run would start beside it.
   */
  async forget(
    source: keyof Sources & string,
    key: string,
  ): Promise<'forgotten' | 'absent' | 'running'> {
    requireSource(this.#names, source)
    requireKey('guard.forget', key)
    return this.#entries.forget(entryOf(this.#options.prefix, source, key).redisKey)
  }

  /**
   * How much the secrets of a source, or of all sources, were used in this process since the guard was made. A guard
   * has no database to keep the counts of several processes in.
   */
  listSecrets(query: { readonly source?: string } = {}): readonly SecretUse[] {
    rejectUnknownKeys('guard.listSecrets', query, ['source'])
    if (query.source !== undefined) requireSource(this.#names, query.source)
    return this.#secrets
      .list()
      .filter(({ source }) => query.source === undefined || source === query.source)
  }

  // ── what an HTTP adapter needs ───────────────────────────────────────────────────────────────

  /** Takes one delivery and says what to answer. Never throws. */
  async receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    const answer: Answer =
      this.#answers.get(sourceName) ??
      (() => Promise.reject(new OptionInvalidError('guard.on', `called for "${sourceName}"`, '')))
    const startedMs = performance.now()
    const told = await receiveGuarded(this.#context, sourceName, delivery, answer)
    reportAnswered(this.#happenings, sourceName, told, performance.now() - startedMs)
    return told
  }

  /** What a source takes; `undefined` when there is none, or one that can verify nothing. */
  findSource(sourceName: string): SourceLimits | undefined {
    const source = this.#verifying.get(sourceName)
    return source === undefined ? undefined : resolveSourceLimits(source, this.receiveOptions)
  }

  /** The same. Throws `SOURCE_UNKNOWN` when there is none, or one that can verify nothing. */
  requireSource(sourceName: string): SourceLimits {
    const limits = this.findSource(sourceName)
    if (limits !== undefined) return limits
    requireSource(this.#names, sourceName)
    throw new HookonceError(
      'SOURCE_UNKNOWN',
      `"${sourceName}" has a retry window only and can verify nothing; configure a source such as stripe({ secrets: […] })`,
    )
  }

  reportBodyParsed(sourceName: string, hint: string): void {
    reportParsed(this.#happenings, sourceName, hint)
  }

  reportUnread(sourceName: string, reason: UnreadReason): void {
    reportUnread(this.#happenings, sourceName, reason)
  }

  /** Whether Redis answered the last command, and keeps what it is given. */
  isReady(): boolean {
    return this.#entries.isUp && !this.#memory.isRefused
  }

  #reportWarnings(): void {
    for (const [source, { warnings }] of this.#verifying) {
      for (const warning of warnings) this.#happenings.emit('source.warning', { source, warning })
    }
  }
}

/** An empty key would be the same for every event whose key was not found. */
function requireKey(option: string, key: unknown): void {
  if (typeof key === 'string' && key !== '') return
  throw new OptionInvalidError(option, 'given the event key, a text that is not empty', key)
}
