/**
 * The composition root: sources, a store and handlers become an inbox. What is started in which order,
 * and stopped in which, is said here and nowhere else.
 *
 * @module
 */

import { bindOperator } from '../admin/bind-operator.ts'
import type { BackfillReport } from '../backfill/backfill.ts'
import type { BackfillOptions } from '../backfill/backfill-options.ts'
import type { Operator } from '../admin/operator.ts'
import { BulkRunner } from '../admin/bulk-runner.ts'
import { reconcile } from '../admin/reconcile.ts'
import type { ReconcileReport } from '../admin/reconcile.ts'
import { requireReconcileOptions } from '../admin/reconcile-options.ts'
import type { ReconcileOptions } from '../admin/reconcile-options.ts'
import { HookonceError } from '../errors.ts'
import type { EventsOf, PayloadFor, SourceMap } from '../model/event-types.ts'
import { fetchHandler } from '../http/fetch.ts'
import { nodeHandler } from '../http/node.ts'
import type { ReceivingInbox, UnreadReason } from '../http/receiving-inbox.ts'
import { backfill } from './backfill.ts'
import { InboxHandlers } from './handlers.ts'
import { findSchema, reportNotStarted, reportWarnings, resolveInboxOptions } from './options.ts'
import type { InboxOptions } from './options.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { Source } from '../model/source.ts'
import type { Tracing } from '../model/tracing.ts'
import type { AnySends, SendMap, SendsOf } from '../model/sends.ts'
import type { Destination } from '../outbox/destination.ts'
import { createOnce } from '../once/once.ts'
import type { Once } from '../once/once.ts'
import { Outbox } from '../outbox/outbox.ts'
import { unavailable } from '../receive/acknowledge.ts'
import { ByteBudget } from '../receive/byte-budget.ts'
import { CommittedKeys } from '../receive/committed-keys.ts'
import { reportAnswered, reportParsed, reportUnread } from '../receive/report-answered.ts'
import { resolveSourceLimits } from '../receive/limits.ts'
import type { SourceLimits } from '../receive/limits.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'
import { receive } from '../receive/receive.ts'
import type { ReceiveContext } from '../receive/receive.ts'
import { StoreWatch } from '../receive/store-watch.ts'
import { createReceiveContext } from './receive-context.ts'
import { traceHandler } from './trace.ts'
import { reportUnfinished } from './report-unfinished.ts'
import type { Store } from '../store/contract/store.ts'
import { takeStore } from '../store/contract/take-store.ts'
import { HappeningEmitter } from '../telemetry/emitter.ts'
import { logHappenings } from '../telemetry/logger.ts'
import type { Logger } from '../telemetry/logger.ts'
import { atMost, GOODBYE_MS, LET_GO_MS } from '../flow/at-most.ts'
import { HandlerRegistry } from '../work/handler-registry.ts'
import { DailyPrune } from '../retention/daily-prune.ts'
import { createNotifier } from './notifier.ts'
import { DUE_WITHIN_MS, DueRuns } from './run-due.ts'
import type { DueRun, DueWork, RunDueOptions } from './run-due.ts'
import type { ResolvedWorkerOptions } from '../work/options.ts'
import { requireSource } from '../model/require-source.ts'
import { Worker } from '../work/worker.ts'

/**
 * Makes an inbox. Nothing is opened before `start()` or the first delivery.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function createInbox<
  const Sources extends SourceMap,
  Tx,
  Sql = Tx,
  const Destinations extends readonly Destination[] = readonly [],
>(
  options: InboxOptions<Sources, Tx, Sql, Destinations>,
): Inbox<Sources, Tx, Sql, SendsOf<Destinations>> {
  return new Inbox(options)
}

/** Receives deliveries, keeps events, runs handlers. Made by `createInbox`. */
export class Inbox<Sources extends SourceMap, Tx, Sql = Tx, Sends extends SendMap = AnySends>
  extends InboxHandlers<Sources, Tx, Sql, Sends>
  implements ReceivingInbox
{
  /** Everything that happens, to listen to. */
  readonly events: Pick<HappeningEmitter, 'on' | 'onAny'>
  /** What an operator can do. */
  readonly admin: Operator
  /** Messages of your own transactions. A handler has `ctx.send`. */
  readonly outbox: Pick<Outbox<Sql, Sends>, 'send' | 'wake'>
  /**
   * Runs work once for a source and key, in a transaction of your own on the inbox's database: a message of a broker,
   * a job, a request with an `Idempotency-Key`. What the work writes, and that it is done, become true with your
   * COMMIT. A duplicate gets the first result.
   *
   * @throws HookonceError with the code TRANSACTION_EXPECTED, TRANSACTION_ABORTED or RESULT_INVALID
   * @throws OptionInvalidError
   */
  readonly once: Once<Sql, Sends>
  /** The options of `receive` with their defaults, for HTTP adapters. */
  readonly receiveOptions: ResolvedReceiveOptions
  /** What the bodies of all deliveries on their way take together, for HTTP adapters. */
  readonly inFlight: ByteBudget
  readonly #store: Store<Sql, Tx>
  readonly #tracing: Tracing | undefined
  readonly #sources: ReadonlyMap<string, Source>
  readonly #workerOptions: ResolvedWorkerOptions | undefined
  readonly #happenings = new HappeningEmitter()
  readonly #logger: Logger
  readonly #handlers: HandlerRegistry
  readonly #committedKeys: CommittedKeys
  readonly #watch: StoreWatch
  readonly #bulkRunner = new BulkRunner()
  readonly #outbox: Outbox<Sql, Sends>
  readonly #context: ReceiveContext
  readonly #notifier: ReturnType<typeof createNotifier>
  readonly #dailyPrune: DailyPrune
  readonly #dueRuns: DueRuns
  readonly #stopLogging: () => void
  #opening: Promise<void> | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #worker: Worker<Sql> | undefined
  #stopListening = async (): Promise<void> => {}
  #state: 'made' | 'started' | 'stopping' | 'stopped' = 'made'
  #runsDue = false
  #receiving = 0
  #onAllReceived: (() => void) | undefined

  constructor(options: InboxOptions<Sources, Tx, Sql>) {
    const resolved = resolveInboxOptions(options)
    const { store, sources, relay, retention, logger, tracing } = resolved
    const handlers = new HandlerRegistry(new Set(sources.keys()), {
      defaults: resolved.handlerDefaults,
      findSchema: (source, type) => findSchema(sources.get(source), type),
      wrap: (name, run) => traceHandler(tracing, name, run),
    })
    super(handlers)
    this.#store = store
    this.#sources = sources
    this.#handlers = handlers
    this.#workerOptions = resolved.worker
    this.#tracing = tracing
    this.receiveOptions = resolved.receive
    this.inFlight = new ByteBudget(resolved.receive.inFlightBytesMax)
    this.#logger = logger
    const happenings = this.#happenings
    this.#stopLogging = logHappenings(happenings, logger)
    this.events = happenings
    this.#committedKeys = new CommittedKeys(this.receiveOptions.rememberMax)
    this.#notifier = createNotifier(store)
    this.#outbox = new Outbox<Sql, Sends>({
      store: store.messages,
      destinations: resolved.destinations,
      tracing,
      relay,
      happenings,
      isHistoryKnown: () => this.#watch.isHistoryKnown,
    })
    this.outbox = this.#outbox
    this.once = createOnce<Sql, Sends>(store.once, this.#outbox)
    this.#dailyPrune = new DailyPrune({ store, policy: retention, happenings })
    const committedKeys = this.#committedKeys
    this.#watch = new StoreWatch({
      store,
      committedKeys,
      happenings,
      onDue: () => this.#wakeAll(),
      pauseSending: (reason) => this.#outbox.pauseAll(reason),
    })
    this.#context = createReceiveContext({
      store,
      open: () => this.#open(),
      sources,
      options: this.receiveOptions,
      committedKeys,
      happenings,
      writes: this.#watch.writes,
      onStored: (drafts) => {
        this.#worker?.eventsStored(drafts)
        this.#notifier.notifySoon()
      },
      onDue: () => {
        this.#worker?.wake()
        this.#notifier.notifySoon()
      },
    })
    this.admin = bindOperator({
      store,
      open: () => this.#open(),
      onForgotten: (id) => this.#committedKeys.forget(id),
      onDue: () => this.#wakeAll(),
      onSendable: () => this.#outbox.wake(),
      onPausesChanged: () => {
        this.#worker?.pausesChanged()
        this.#wakeAll()
      },
      onActed: (acted) => happenings.emit('operator.acted', acted),
      bulkRunner: this.#bulkRunner,
      retention,
      happenings,
      writeSecretUses: () => {
        this.#context.secrets.announce()
        return this.#context.secrets.flush()
      },
    })
    this.#dueRuns = new DueRuns({ happenings, startWork: (terms) => this.#startDueWork(terms) })
    const runsNothing = () => this.#state === 'made' && !this.#runsDue && !handlers.isEmpty
    if (resolved.worker !== undefined) reportNotStarted(happenings, runsNothing)
    takeStore('createInbox', store)
  }

  // ── receive ──────────────────────────────────────────────────────────────────────────────────

  /** Takes one delivery and says what to answer. Never throws. */
  async receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    if (this.#state === 'stopping' || this.#state === 'stopped') return unavailable()
    this.#receiving += 1
    try {
      const startedMs = performance.now()
      const answer = await this.#receiveTraced(sourceName, delivery)
      reportAnswered(this.#happenings, sourceName, answer, performance.now() - startedMs)
      return answer
    } finally {
      this.#receiving -= 1
      if (this.#receiving === 0) this.#onAllReceived?.()
    }
  }

  #receiveTraced(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    const take = (traceparent?: string) => receive(this.#context, sourceName, delivery, traceparent)
    // A name that is not configured is a stranger's text, and makes no span.
    if (this.#tracing === undefined || !this.#sources.has(sourceName)) return take()
    return this.#tracing.receive(sourceName, take)
  }

  /**
   * A web-standard handler: Next.js, SvelteKit, Hono, Bun, Deno, Workers.
   *
   * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
   */
  fetch(sourceName: keyof Sources & string): (request: Request) => Promise<Response> {
    return fetchHandler(this, sourceName)
  }

  /**
   * A handler for `node:http`.
   *
   * Throws `SOURCE_UNKNOWN` at once when the inbox has no such source.
   */
  node(sourceName: keyof Sources & string): ReturnType<typeof nodeHandler> {
    return nodeHandler(this, sourceName)
  }

  /**
   * Asks the sender what it has sent, and takes in what the inbox lacks: after an outage, or to see that there was
   * none (`dryRun`). Safe at any time and as often as you like.
   *
   * @throws HookonceError with the code SOURCE_UNKNOWN; OptionInvalidError; StoreUnavailableError
   */
  async backfill(
    sourceName: keyof Sources & string,
    options: BackfillOptions,
  ): Promise<BackfillReport> {
    const parts = { context: this.#context, store: this.#store, open: () => this.#open() }
    return backfill(parts, sourceName, options)
  }

  /**
   * Compares done events with your own tables, and lists those whose effect is missing, or replays them: after a table
   * was restored, or a handler had a bug. Safe at any time, before `start()` as well: what is replayed then runs when
   * the inbox starts.
   *
   * @throws HookonceError with the code SOURCE_UNKNOWN; OptionInvalidError; StoreUnavailableError
   */
  async reconcile<Name extends keyof Sources & string = keyof Sources & string>(
    options: ReconcileOptions<Tx, PayloadFor<EventsOf<Sources[Name]>, '*'>, Name>,
  ): Promise<ReconcileReport> {
    requireReconcileOptions(options)
    if (options.source !== undefined) requireSource(this.#sources, options.source)
    await this.#open()
    const replay: Operator['replay'] = (id, terms) => this.admin.replay(id, terms)
    return reconcile({ store: this.#store, replay }, options)
  }

  /** The names of its sources. */
  get sourceNames(): readonly string[] {
    return [...this.#sources.keys()]
  }

  /** What a source takes, for HTTP adapters; `undefined` when no such source is configured. */
  findSource(sourceName: string): SourceLimits | undefined {
    const source = this.#sources.get(sourceName)
    return source === undefined ? undefined : resolveSourceLimits(source, this.receiveOptions)
  }

  /** The same. Throws `SOURCE_UNKNOWN` when no such source is configured. */
  requireSource(sourceName: string): SourceLimits {
    requireSource(this.#sources, sourceName)
    return this.findSource(sourceName) as SourceLimits
  }

  reportBodyParsed(sourceName: string, hint: string): void {
    reportParsed(this.#happenings, sourceName, hint)
  }

  reportUnread(sourceName: string, reason: UnreadReason): void {
    reportUnread(this.#happenings, sourceName, reason)
  }

  /** Whether a delivery would be taken now: started, not stopping, and the store answers and can write. */
  isReady(): boolean {
    return this.#state === 'started' && this.#watch.isUp
  }

  // ── start and stop ───────────────────────────────────────────────────────────────────────────

  /**
   * Opens the store, then runs events and sends messages until `stop()`. Rejects when the store cannot be used; it
   * can then be called again.
   *
   * @throws HookonceError with the code INBOX_STOPPED when it was started or stopped before
   * @throws OptionInvalidError when the pool is too small for `worker.concurrency`, or for a relay
   */
  async start(): Promise<void> {
    if (this.#state !== 'made') {
      throw new HookonceError('INBOX_STOPPED', `An inbox starts once; this one is ${this.#state}`)
    }
    this.#state = 'started'
    reportWarnings(this.#sources, this.#happenings)
    this.#starting = this.#startParts()
    await this.#starting
  }

  /**
   * Takes no more deliveries and claims no more events, waits for what is running, and closes the store.
   * The user's own pool stays open. Every call waits for the same end.
   *
   * With a database that does not answer it takes at most `worker.stopGraceMs`, `relay.stopGraceMs` and about ten
   * seconds: what is then still open is left to end as in a crash, and runs again.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopParts()
    return this.#stopping
  }

  /**
   * For processes that live only while they are called, such as a function of a cloud: runs what is due and sends what
   * waits, until there is nothing more or the time is over, and says what it did. Instead of `start()`, and as often as
   * you like. A call while another one is at work gets that one's result.
   *
   * @throws HookonceError with the code INBOX_STARTED when `start()` was called: then events run by themselves
   * @throws HookonceError with the code INBOX_STOPPED; OptionInvalidError; StoreUnavailableError
   */
  async runDue(options: RunDueOptions): Promise<DueRun> {
    if (this.#state === 'started')
      throw new HookonceError(
        'INBOX_STARTED',
        'This inbox was started and runs events by itself: runDue() is for one that is not',
      )
    if (this.#state !== 'made')
      throw new HookonceError('INBOX_STOPPED', `This inbox is ${this.#state}: make a new one`)
    this.#runsDue = true
    return this.#dueRuns.run(options)
  }

  async #startParts(): Promise<void> {
    try {
      await this.#dueRuns.end()
      this.#requireCapacity()
      await this.#open()
      for (const warning of this.#store.warnings ?? [])
        this.#happenings.emit('store.warning', { warning })
      await this.#watch.start()
      this.#context.secrets.announce()
      if (this.#workerOptions !== undefined || this.#outbox.hasRelay)
        this.#stopListening = await this.#store.queue.listen(() => this.#wakeOwn())
      // Before this process has anything in hand itself.
      if (this.#workerOptions !== undefined || this.#outbox.hasRelay)
        await reportUnfinished(this.#store, this.#happenings)
      if (this.#workerOptions !== undefined)
        await this.#startWorker(this.#workerOptions, { isBrief: false })
      this.#outbox.start()
      this.#dailyPrune.start()
    } catch (error) {
      await this.#watch.stop()
      await this.#stopListening()
      if (this.#state === 'started') this.#state = 'made'
      throw error
    }
  }

  async #stopParts(): Promise<void> {
    this.#state = 'stopping'
    const graceMs = (this.#workerOptions?.stopGraceMs ?? 0) + this.#outbox.stopGraceMs
    const endAt = performance.now() + graceMs + LET_GO_MS
    const inTime = (part: Promise<unknown>) => atMost(Math.max(0, endAt - performance.now()), part)
    // What is only half started could not be stopped.
    if (this.#starting !== undefined) await inTime(this.#starting.catch(() => undefined))
    if (this.#receiving > 0) await inTime(new Promise<void>((end) => (this.#onAllReceived = end)))
    await inTime(this.#context.batcher.drain())
    await inTime(this.#bulkRunner.stop())
    await inTime(this.#dueRuns.end())
    // In this order: until its last handler has returned, a worker may give the relay something to send.
    if (this.#worker !== undefined) await inTime(this.#worker.stop())
    await inTime(this.#outbox.stop())
    const goodbyes = [
      this.#dailyPrune.stop(),
      this.#watch.stop(),
      this.#notifier.stop(),
      this.#stopListening(),
      this.#context.counter.flush(),
      this.#context.secrets.stop(),
    ]
    await atMost(GOODBYE_MS, Promise.allSettled(goodbyes))
    await atMost(GOODBYE_MS, this.#store.close())
    this.#state = 'stopped'
    this.#stopLogging()
  }

  /** `await using` stops the inbox at the end of its block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #open(): Promise<void> {
    // A failed opening is tried again by the next caller.
    this.#opening ??= this.#store.open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #startDueWork(terms: { readonly stopGraceMs: number }): Promise<DueWork> {
    const options = this.#workerOptions
    this.#requireCapacity()
    await this.#open()
    await this.#watch.start()
    try {
      if (options !== undefined)
        await this.#startWorker({ ...options, ...terms }, { isBrief: true })
      this.#outbox.start(terms)
    } catch (error) {
      await this.#watch.stop()
      throw error
    }
    return {
      untilIdle: async () => {
        const eventInMs = await this.#worker?.untilIdle()
        const messageInMs = await this.#outbox.untilIdle(DUE_WITHIN_MS)
        const nextInMs = Math.min(eventInMs ?? Infinity, messageInMs ?? Infinity)
        return nextInMs === Infinity ? undefined : nextInMs
      },
      stop: async () => {
        const ends = [this.#worker?.stop(), this.#outbox.stop(), this.#watch.stop()]
        const { counter, secrets } = this.#context
        await Promise.all([...ends, counter.flush(), secrets.flush()])
        this.#worker = undefined
      },
    }
  }

  /** @throws OptionInvalidError when the pool is too small for what this process is to do */
  #requireCapacity(): void {
    const groups = this.#workerOptions?.concurrency ?? (this.#outbox.hasRelay ? 0 : undefined)
    if (groups !== undefined) this.#store.queue.requireCapacity(groups)
  }

  async #startWorker(
    options: ResolvedWorkerOptions,
    { isBrief }: { readonly isBrief: boolean },
  ): Promise<void> {
    const worker = new Worker<Sql>({
      isBrief,
      store: this.#store,
      handlers: this.#handlers,
      options,
      happenings: this.#happenings,
      logger: this.#logger,
      keepsResult: (source) => this.#sources.get(source)?.acknowledge === 'processed',
      onSettled: (eventId, state) => {
        // The redelivery of a dead event is a wish to try again, so it must reach the store.
        if (state === 'dead') this.#committedKeys.forget(eventId)
        this.#context.outcomes.settled(eventId)
      },
      outbox: {
        draft: (input) => this.#outbox.draft(input),
        enqueue: (tx, drafts) => this.#store.messages.enqueue(tx, drafts),
        onCommitted: () => {
          this.#outbox.wake()
          this.#notifier.notifySoon()
        },
      },
    })
    await worker.start()
    this.#worker = worker
  }

  protected override handlersChanged(): void {
    this.#worker?.handlersChanged()
  }

  #wakeOwn(): void {
    this.#worker?.wake()
    this.#outbox.wake()
  }

  #wakeAll(): void {
    this.#wakeOwn()
    this.#notifier.notifySoon()
  }
}
