/**
 * The composition root: sources, a store and handlers become an inbox. What is started in which order,
 * and stopped in which, is said here and nowhere else.
 *
 * @module
 */

import { createOperator } from './admin/operator.ts'
import type { Operator } from './admin/operator.ts'
import { HookonceError, OptionInvalidError, rejectUnknownKeys } from './errors.ts'
import type {
  EventsOf,
  HandlerFunction,
  PatternsOf,
  PayloadFor,
  PayloadWith,
  SourceMap,
  StepHandlerFunction,
  TxFor,
  TypePattern,
} from './handler-types.ts'
import { fetchHandler } from './http/fetch.ts'
import { nodeHandler } from './http/node.ts'
import type { ReceivingInbox } from './http/receiving-inbox.ts'
import type { Acknowledgement } from './model/acknowledgement.ts'
import type { Delivery } from './model/delivery.ts'
import { isSourceName } from './model/source-name.ts'
import type { Source } from './model/source.ts'
import { unavailable } from './receive/acknowledge.ts'
import { OutcomeWaiter } from './receive/await-outcome.ts'
import { Batcher } from './receive/batcher.ts'
import type { RecordingStore } from './receive/batcher.ts'
import { CommittedKeys } from './receive/committed-keys.ts'
import { DeliveryCounter } from './receive/delivery-counter.ts'
import { Heartbeat } from './receive/heartbeat.ts'
import { DEFAULT_METHODS } from './receive/limits.ts'
import { resolveReceiveOptions } from './receive/options.ts'
import type { ReceiveOptions, ResolvedReceiveOptions } from './receive/options.ts'
import { receive } from './receive/receive.ts'
import type { ReceiveContext } from './receive/receive.ts'
import type { Store } from './store/contract.ts'
import { HappeningEmitter } from './telemetry/emitter.ts'
import { logHappenings, resolveLogger } from './telemetry/logger.ts'
import type { Logger } from './telemetry/logger.ts'
import type { Destination } from './outbox/destination.ts'
import type { RelayOptions } from './outbox/options.ts'
import { Outbox } from './outbox/outbox.ts'
import { HandlerRegistry } from './work/handlers.ts'
import type { AnyHandler, HandlerOptions, StepHandlerOptions } from './work/handlers.ts'
import { resolveWorkerOptions } from './work/options.ts'
import type { ResolvedWorkerOptions, WorkerOptions } from './work/options.ts'
import { createNotifier } from './work/notifier.ts'
import { Worker } from './work/worker.ts'

export interface InboxOptions<Sources extends SourceMap, Tx> {
  /** Where events are kept: `sqliteStore(file)` or `postgresStore({ pool })`. */
  readonly store: Store<Tx>
  /** The senders, by the name their deliveries are routed with. */
  readonly sources: Sources
  /** What the door lets in, and how long it waits. */
  readonly receive?: ReceiveOptions
  /** How this process runs events; `false` for a process that only receives. */
  readonly worker?: WorkerOptions | false
  /** Where messages can be sent: `httpDestination(name, …)`, `destination(name, …)`. */
  readonly destinations?: readonly Destination[]
  /** How this process sends messages; `false` for one that only writes them. */
  readonly relay?: RelayOptions | false
  /** Gets a line for everything that happens. Left out, warnings and errors go to the console. */
  readonly logger?: Logger
}

/**
 * Makes an inbox. Nothing is opened before `start()` or the first delivery.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function createInbox<const Sources extends SourceMap, Tx>(
  options: InboxOptions<Sources, Tx>,
): Inbox<Sources, Tx> {
  return new Inbox(options)
}

/** Receives deliveries, keeps events, runs handlers. Made by `createInbox`. */
export class Inbox<Sources extends SourceMap, Tx> implements ReceivingInbox {
  /** Everything that happens, to listen to. */
  readonly events: Pick<HappeningEmitter, 'on' | 'onAny'>
  /** What an operator can do. */
  readonly admin: Operator
  /** Messages of your own transactions. A handler has `ctx.send`. */
  readonly outbox: Pick<Outbox<Tx>, 'send' | 'wake'>
  readonly receiveOptions: ResolvedReceiveOptions
  readonly #store: Store<Tx>
  readonly #sources: ReadonlyMap<string, Source>
  readonly #workerOptions: ResolvedWorkerOptions | undefined
  readonly #happenings = new HappeningEmitter()
  readonly #logger: Logger
  readonly #handlers: HandlerRegistry
  readonly #committedKeys: CommittedKeys
  readonly #heartbeat: Heartbeat
  readonly #outbox: Outbox<Tx>
  /** Whether handlers have sent something since the relay was last called. */
  #hasEnqueued = false
  readonly #context: ReceiveContext
  readonly #notifier: ReturnType<typeof createNotifier>
  #opening: Promise<void> | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #worker: Worker<Tx> | undefined
  #stopListening: (() => Promise<void>) | undefined
  #state: 'made' | 'started' | 'stopping' | 'stopped' = 'made'
  readonly #receiving = new Set<Promise<Acknowledgement>>()

  constructor(options: InboxOptions<Sources, Tx>) {
    if (typeof options !== 'object' || options === null) {
      throw new OptionInvalidError('createInbox', 'given an object with store and sources', options)
    }
    rejectUnknownKeys('createInbox', options, OPTION_NAMES)
    this.#store = requireStore(options.store)
    this.#sources = requireSources(options.sources)
    this.#workerOptions =
      options.worker === false ? undefined : resolveWorkerOptions(options.worker ?? {})
    this.receiveOptions = resolveReceiveOptions(options.receive ?? {})
    this.#logger = resolveLogger('createInbox.logger', options.logger)
    logHappenings(this.#happenings, this.#logger)
    this.events = this.#happenings
    this.#handlers = new HandlerRegistry(new Set(this.#sources.keys()))
    this.#committedKeys = new CommittedKeys(this.receiveOptions.rememberMax)
    this.#heartbeat = new Heartbeat(this.#store, this.#committedKeys, this.#happenings)
    this.#notifier = createNotifier(this.#store)
    this.#outbox = new Outbox<Tx>({
      store: this.#store,
      destinations: options.destinations ?? [],
      relay: options.relay ?? {},
      happenings: this.#happenings,
    })
    this.outbox = this.#outbox
    this.#context = this.#createReceiveContext()
    this.admin = createOperator({
      store: this.#store,
      open: () => this.#open(),
      onForgotten: (id) => this.#committedKeys.forget(id),
      onSendable: () => this.#outbox.wake(),
    })
    // The redelivery of a dead event is a wish to try again, so it must reach the store.
    this.#happenings.on('event.dead', ({ eventId }) => this.#committedKeys.forget(eventId))
    this.#happenings.on('event.done', () => this.#callRelays())
    this.#happenings.on('event.skipped', () => this.#callRelays())
  }

  // ── receive ──────────────────────────────────────────────────────────────────────────────────

  /** Takes one delivery and says what to answer. Never throws. */
  async receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    if (this.#state === 'stopping' || this.#state === 'stopped') return unavailable()
    const receiving = receive(this.#context, sourceName, delivery)
    this.#receiving.add(receiving)
    try {
      return await receiving
    } finally {
      this.#receiving.delete(receiving)
    }
  }

  /** A web-standard handler: Next.js, SvelteKit, Hono, Bun, Deno, Workers. */
  fetch(sourceName: keyof Sources & string): (request: Request) => Promise<Response> {
    return fetchHandler(this, sourceName)
  }

  /** A handler for `node:http`. */
  node(sourceName: keyof Sources & string): ReturnType<typeof nodeHandler> {
    return nodeHandler(this, sourceName)
  }

  requireSource(sourceName: string): void {
    if (this.#sources.has(sourceName)) return
    const known = [...this.#sources.keys()].join(', ') || 'none'
    throw new HookonceError(
      'SOURCE_UNKNOWN',
      `There is no source "${sourceName}". Configured: ${known}`,
    )
  }

  listMethods(sourceName: string): readonly string[] {
    return this.#sources.get(sourceName)?.methods ?? DEFAULT_METHODS
  }

  reportBodyParsed(sourceName: string, hint: string): void {
    this.#happenings.emit('delivery.body-parsed', { source: sourceName, hint })
  }

  /** Whether a delivery would be taken now: started, not stopping, and the store answered its last heartbeat. */
  isReady(): boolean {
    return this.#state === 'started' && this.#heartbeat.storeIsUp
  }

  // ── work ─────────────────────────────────────────────────────────────────────────────────────

  /**
   * Registers a handler for a type, a pattern such as `invoice.*`, or a list of them.
   *
   * The handler runs once for each event, in a transaction that commits together with the fact that the
   * event is done. See `HandlerFunction` for what it can return and throw.
   */
  on<Name extends keyof Sources & string, const Types extends Patterns<Sources, Name>>(
    source: Name,
    types: Types,
    handler: HandlerFunction<PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>, Tx>,
  ): this
  on<
    Name extends keyof Sources & string,
    const Types extends Patterns<Sources, Name>,
    const Options extends HandlerOptions,
  >(
    source: Name,
    types: Types,
    options: Options,
    handler: HandlerFunction<
      PayloadWith<PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>, Options>,
      TxFor<Tx, Options>
    >,
  ): this
  on(
    source: string,
    types: string | readonly string[],
    optionsOrHandler: HandlerOptions | AnyHandler,
    handler?: AnyHandler,
  ): this {
    if (typeof optionsOrHandler === 'function')
      this.#handlers.add(source, types, {}, optionsOrHandler)
    else this.#handlers.add(source, types, optionsOrHandler, handler as AnyHandler)
    this.#worker?.handlersChanged()
    return this
  }

  /**
   * Registers a step handler, for work that leaves the database: between its steps it holds no transaction,
   * and each step's result is kept. See `StepContext` for what a step can be.
   */
  steps<Name extends keyof Sources & string, const Types extends Patterns<Sources, Name>>(
    source: Name,
    types: Types,
    handler: StepHandlerFunction<PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>, Tx>,
  ): this
  steps<
    Name extends keyof Sources & string,
    const Types extends Patterns<Sources, Name>,
    const Options extends StepHandlerOptions,
  >(
    source: Name,
    types: Types,
    options: Options,
    handler: StepHandlerFunction<
      PayloadWith<PayloadFor<EventsOf<Sources[Name]>, PatternsOf<Types>>, Options>,
      Tx
    >,
  ): this
  steps(
    source: string,
    types: string | readonly string[],
    optionsOrHandler: StepHandlerOptions | AnyHandler,
    handler?: AnyHandler,
  ): this {
    if (typeof optionsOrHandler === 'function')
      this.#handlers.addSteps(source, types, {}, optionsOrHandler)
    else this.#handlers.addSteps(source, types, optionsOrHandler, handler as AnyHandler)
    this.#worker?.handlersChanged()
    return this
  }

  // ── start and stop ───────────────────────────────────────────────────────────────────────────

  /** Opens the store, then runs events until `stop()`. Rejects when the store cannot be used; it can then be called again. */
  async start(): Promise<void> {
    if (this.#state !== 'made') {
      throw new HookonceError('INBOX_STOPPED', `An inbox starts once; this one is ${this.#state}`)
    }
    this.#state = 'started'
    this.#reportWarnings()
    this.#starting = this.#startParts()
    await this.#starting
  }

  /**
   * Takes no more deliveries and claims no more events, waits for what is running, and closes the store.
   * The user's own pool stays open. Every call waits for the same end.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopParts()
    return this.#stopping
  }

  async #startParts(): Promise<void> {
    try {
      await this.#open()
      await this.#heartbeat.start()
      if (this.#workerOptions !== undefined || this.#outbox.hasRelay) await this.#listen()
      if (this.#workerOptions !== undefined) await this.#startWorker(this.#workerOptions)
      this.#outbox.start()
    } catch (error) {
      this.#heartbeat.stop()
      await this.#stopListening?.()
      this.#stopListening = undefined
      if (this.#state === 'started') this.#state = 'made'
      throw error
    }
  }

  async #stopParts(): Promise<void> {
    this.#state = 'stopping'
    // What is only half started could not be stopped.
    await this.#starting?.catch(() => undefined)
    await Promise.allSettled(this.#receiving)
    await this.#context.batcher.drain()
    await this.#worker?.stop()
    await this.#outbox.stop()
    this.#heartbeat.stop()
    await this.#notifier.stop()
    await this.#stopListening?.()
    if (this.#opening !== undefined) {
      await this.#context.counter.flush()
      await this.#store.close()
    }
    this.#state = 'stopped'
  }

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

  async #listen(): Promise<void> {
    this.#stopListening = await this.#store.listen(() => {
      this.#worker?.wake()
      this.#outbox.wake()
    })
  }

  async #startWorker(options: ResolvedWorkerOptions): Promise<void> {
    this.#store.requireCapacity(options.concurrency)
    const worker = new Worker<Tx>({
      store: this.#store,
      handlers: this.#handlers,
      options,
      happenings: this.#happenings,
      logger: this.#logger,
      keepsResult: (source) => this.#sources.get(source)?.acknowledge === 'processed',
      outbox: {
        draft: (input) => this.#outbox.draft(input),
        enqueue: async (tx, drafts) => {
          await this.#store.enqueueMessages(tx, drafts)
          this.#hasEnqueued = true
        },
      },
    })
    await worker.start()
    this.#worker = worker
  }

  /** After a COMMIT of handlers that have sent something. */
  #callRelays(): void {
    if (!this.#hasEnqueued) return
    this.#hasEnqueued = false
    this.#outbox.wake()
    this.#notifier.notifySoon()
  }

  #createReceiveContext(): ReceiveContext {
    const store = this.#store
    const options = this.receiveOptions
    return {
      sources: this.#sources,
      options,
      batcher: new Batcher(this.#createRecordingStore(), options),
      committedKeys: this.#committedKeys,
      counter: new DeliveryCounter(store),
      outcomes: new OutcomeWaiter(store, this.#happenings, options.processedTimeoutMs),
      happenings: this.#happenings,
      onStored: () => {
        this.#worker?.wake()
        this.#notifier.notifySoon()
      },
    }
  }

  /** The store, opened by whoever needs it first. */
  #createRecordingStore(): RecordingStore {
    const store = this.#store
    return {
      recordConcurrency: store.recordConcurrency,
      recordEvents: async (drafts, options) => {
        await this.#open()
        return store.recordEvents(drafts, options)
      },
      // Asked only while a handler or a batch is on its way, so the store is open.
      ...(store.findKnown !== undefined && { findKnown: store.findKnown.bind(store) }),
      ...(store.isHeld !== undefined && { isHeld: store.isHeld.bind(store) }),
    }
  }

  #reportWarnings(): void {
    for (const [name, source] of this.#sources) {
      for (const warning of source.warnings)
        this.#happenings.emit('source.warning', { source: name, warning })
    }
  }
}

const OPTION_NAMES = ['store', 'sources', 'receive', 'worker', 'destinations', 'relay', 'logger']

type Patterns<Sources extends SourceMap, Name extends keyof Sources> =
  TypePattern<EventsOf<Sources[Name]>> | readonly TypePattern<EventsOf<Sources[Name]>>[]

function requireSources(sources: SourceMap): ReadonlyMap<string, Source> {
  if (typeof sources !== 'object' || sources === null) {
    throw new OptionInvalidError('createInbox.sources', 'an object of sources by name', sources)
  }
  const entries = Object.entries(sources)
  for (const [name, source] of entries) {
    if (!isSourceName(name)) {
      throw new OptionInvalidError(
        `createInbox.sources.${name}`,
        'named with a-z, 0-9, - and _ only',
        name,
      )
    }
    if (typeof source?.verify !== 'function' || typeof source.identify !== 'function') {
      throw new OptionInvalidError(
        `createInbox.sources.${name}`,
        'a source, such as stripe({ secrets: […] })',
        source,
      )
    }
  }
  if (entries.length === 0)
    throw new OptionInvalidError('createInbox.sources', 'at least one source', sources)
  return new Map(entries)
}

function requireStore<Tx>(store: Store<Tx>): Store<Tx> {
  if (typeof store?.recordEvents === 'function') return store
  throw new OptionInvalidError(
    'createInbox.store',
    'a store: sqliteStore(file) or postgresStore({ pool })',
    store,
  )
}
