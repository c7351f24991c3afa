/**
 * The inbox as its users see it: sources, a store and handlers become one thing that receives, runs and sends.
 *
 * What it consists of is `inbox-parts.ts`, what is started in which order `inbox-life.ts`.
 *
 * @module
 */

import type { Operator } from '../admin/operator.ts'
import { reconcile } from '../admin/reconcile.ts'
import type { ReconcileReport } from '../admin/reconcile.ts'
import { requireReconcileOptions } from '../admin/reconcile-options.ts'
import type { ReconcileOptions } from '../admin/reconcile-options.ts'
import type { BackfillReport } from '../backfill/backfill.ts'
import type { BackfillOptions } from '../backfill/backfill-options.ts'
import { fetchHandler } from '../http/fetch.ts'
import { nodeHandler } from '../http/node.ts'
import type { ReceivingInbox, UnreadReason } from '../http/receiving-inbox.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventsOf, PayloadFor, PayloadWith, SourceMap } from '../model/event-types.ts'
import { requireSource } from '../model/require-source.ts'
import type { AnySends, SendMap, SendsOf } from '../model/sends.ts'
import { createOnce } from '../once/once.ts'
import type { Once } from '../once/once.ts'
import type { Destination } from '../outbox/destination.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { unavailable } from '../receive/acknowledge.ts'
import type { ByteBudget } from '../receive/byte-budget.ts'
import { resolveSourceLimits } from '../receive/limits.ts'
import type { SourceLimits } from '../receive/limits.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'
import { receive } from '../receive/receive.ts'
import { reportAnswered, reportParsed, reportUnread } from '../receive/report-answered.ts'
import { takeStore } from '../store/contract/take-store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { HandlerOptions, StepHandlerOptions } from '../work/handler-options.ts'
import type { AnyHandler } from '../work/handler-unit.ts'
import { backfill } from './backfill.ts'
import type {
  FetchedBy,
  HandlerFunction,
  Patterns,
  PayloadOf,
  StepHandlerFunction,
  TxFor,
} from './handler-types.ts'
import { InboxLife } from './inbox-life.ts'
import { InboxParts } from './inbox-parts.ts'
import { resolveInboxOptions } from './options.ts'
import type { InboxOptions } from './options.ts'
import type { DueRun, RunDueOptions } from './run-due.ts'

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
export class Inbox<
  Sources extends SourceMap,
  Tx,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> implements ReceivingInbox {
  /** Everything that happens, to listen to. */
  readonly events: Pick<HappeningEmitter, 'on' | 'onAny'>
  /** What an operator can do. */
  readonly admin: Operator
  /** Messages of your own transactions. A handler has `ctx.send`. */
  readonly outbox: Pick<Outbox<Sql, Sends>, 'send' | 'wake'>
  /**
   * Runs work once for a source and key, in a transaction of your own on the inbox's database: a message of a broker,
   * a job, a request with an `Idempotency-Key`. What the work writes, and that it is done, become true with your
   * COMMIT. A duplicate gets the first result. The same key with another payload is a `conflict`, and told.
   *
   * @throws HookonceError with the code TRANSACTION_EXPECTED, TRANSACTION_ABORTED or RESULT_INVALID
   * @throws OptionInvalidError
   */
  readonly once: Once<Sql, Sends>
  /** The options of `receive` with their defaults, for HTTP adapters. */
  readonly receiveOptions: ResolvedReceiveOptions
  /** What the bodies of all deliveries on their way take together, for HTTP adapters. */
  readonly inFlight: ByteBudget
  readonly #parts: InboxParts<Tx, Sql, Sends>
  readonly #life: InboxLife<Tx, Sql, Sends>

  constructor(options: InboxOptions<Sources, Tx, Sql>) {
    const parts = new InboxParts<Tx, Sql, Sends>(resolveInboxOptions(options))
    this.#parts = parts
    this.#life = new InboxLife(parts)
    this.events = parts.happenings
    this.admin = parts.admin
    this.outbox = parts.outbox
    this.once = createOnce<Sql, Sends>(parts.store.once, parts.outbox, parts.happenings)
    this.receiveOptions = parts.receiveOptions
    this.inFlight = parts.inFlight
    takeStore('createInbox', parts.store)
  }

  // ── handlers ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Registers a handler for a type, a pattern such as `invoice.*`, or a list of them.
   *
   * The handler runs once for each event, in a transaction that commits together with the fact that the
   * event is done. See `HandlerFunction` for what it can return and throw.
   *
   * @throws HookonceError with the code SOURCE_UNKNOWN when the inbox has no such source
   * @throws OptionInvalidError for an option that cannot be used, and a name that another handler of the source has
   */
  on<Name extends keyof Sources & string, const Types extends Patterns<Sources, Name>>(
    source: Name,
    types: Types,
    handler: HandlerFunction<PayloadOf<Sources, Name, Types>, Tx, undefined, Sql, Sends>,
  ): this
  on<
    Name extends keyof Sources & string,
    const Types extends Patterns<Sources, Name>,
    const Options extends HandlerOptions<unknown, PayloadOf<Sources, Name, Types>>,
  >(
    source: Name,
    types: Types,
    options: Options,
    handler: HandlerFunction<
      PayloadWith<PayloadOf<Sources, Name, Types>, Options>,
      TxFor<Tx, Options>,
      FetchedBy<Options>,
      TxFor<Sql, Options>,
      Sends
    >,
  ): this
  on(source: string, types: string | readonly string[], ...rest: Rest<HandlerOptions>): this {
    this.#parts.handlers.add(source, types, ...withOptions(rest))
    this.#parts.worker?.handlersChanged()
    return this
  }

  /**
   * Registers a step handler, for work that leaves the database: between its steps it holds no transaction,
   * and each step's result is kept. See `StepContext` for what a step can be.
   *
   * @throws HookonceError with the code SOURCE_UNKNOWN when the inbox has no such source
   * @throws OptionInvalidError for an option that cannot be used, and a name that another handler of the source has
   */
  steps<Name extends keyof Sources & string, const Types extends Patterns<Sources, Name>>(
    source: Name,
    types: Types,
    handler: StepHandlerFunction<PayloadOf<Sources, Name, Types>, Tx, undefined, Sql, Sends>,
  ): this
  steps<
    Name extends keyof Sources & string,
    const Types extends Patterns<Sources, Name>,
    const Options extends StepHandlerOptions<unknown, PayloadOf<Sources, Name, Types>>,
  >(
    source: Name,
    types: Types,
    options: Options,
    handler: StepHandlerFunction<
      PayloadWith<PayloadOf<Sources, Name, Types>, Options>,
      Tx,
      FetchedBy<Options>,
      Sql,
      Sends
    >,
  ): this
  steps(
    source: string,
    types: string | readonly string[],
    ...rest: Rest<StepHandlerOptions>
  ): this {
    this.#parts.handlers.addSteps(source, types, ...withOptions(rest))
    this.#parts.worker?.handlersChanged()
    return this
  }

  // ── receive ──────────────────────────────────────────────────────────────────────────────────

  /** Takes one delivery and says what to answer. Never throws. */
  async receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    if (this.#life.isEnding) return unavailable()
    const { context, happenings, tracing, sources } = this.#parts
    return this.#life.receiving(async () => {
      const startedMs = performance.now()
      // A name that is not configured is a stranger's text, and makes no span.
      const answer =
        tracing === undefined || !sources.has(sourceName)
          ? await receive(context, sourceName, delivery)
          : await tracing.receive(sourceName, (traceparent) =>
              receive(context, sourceName, delivery, traceparent),
            )
      reportAnswered(happenings, sourceName, answer, performance.now() - startedMs)
      return answer
    })
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
    const { context, store } = this.#parts
    return backfill({ context, store, open: () => this.#parts.open() }, sourceName, options)
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
    if (options.source !== undefined) requireSource(this.#parts.sources, options.source)
    await this.#parts.open()
    const replay: Operator['replay'] = (id, terms) => this.admin.replay(id, terms)
    return reconcile({ store: this.#parts.store, replay }, options)
  }

  /** The names of its sources. */
  get sourceNames(): readonly string[] {
    return [...this.#parts.sources.keys()]
  }

  /** What a source takes, for HTTP adapters; `undefined` when no such source is configured. */
  findSource(sourceName: string): SourceLimits | undefined {
    const source = this.#parts.sources.get(sourceName)
    return source === undefined ? undefined : resolveSourceLimits(source, this.receiveOptions)
  }

  /** The same. Throws `SOURCE_UNKNOWN` when no such source is configured. */
  requireSource(sourceName: string): SourceLimits {
    requireSource(this.#parts.sources, sourceName)
    return this.findSource(sourceName) as SourceLimits
  }

  reportBodyParsed(sourceName: string, hint: string): void {
    reportParsed(this.#parts.happenings, sourceName, hint)
  }

  reportUnread(sourceName: string, reason: UnreadReason): void {
    reportUnread(this.#parts.happenings, sourceName, reason)
  }

  /** Whether a delivery would be taken now: started, not stopping, and the store answers and can write. */
  isReady(): boolean {
    return this.#life.isStarted && this.#parts.watch.isUp
  }

  /**
   * By how much this process's clock is ahead of the database's, in milliseconds; negative when it is behind, and
   * `undefined` until the store has answered. It is looked at once a second. By more than 30 s, signatures that hold a
   * time look stale, and `clock.skewed` is told.
   */
  get clockSkewMs(): number | undefined {
    return this.#parts.watch.clockSkewMs
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
    await this.#life.start()
  }

  /**
   * Takes no more deliveries and claims no more events, waits for what is running, and closes the store.
   * The user's own pool stays open. Every call waits for the same end.
   *
   * With a database that does not answer it takes at most `worker.stopGraceMs`, `relay.stopGraceMs` and about ten
   * seconds: what is then still open is left to end as in a crash, and runs again.
   */
  stop(): Promise<void> {
    return this.#life.stop()
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
    return this.#life.runDue(options)
  }

  /** `await using` stops the inbox at the end of its block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** What comes after source and types: options are left out by most, and the handler is the last. */
type Rest<Options> = [handler: AnyHandler] | [options: Options, handler: AnyHandler]

function withOptions<Options extends object>(
  rest: Rest<Options>,
): [options: Options | Record<string, never>, handler: AnyHandler] {
  return rest.length === 2 ? rest : [{}, rest[0]]
}
