/**
 * What an inbox consists of, and how its parts tell each other that there is something to do.
 *
 * Everything is made here and nothing is started: the order in which parts start and stop is `inbox-life.ts`.
 *
 * @module
 */

import { bindOperator } from '../admin/bind-operator.ts'
import { BulkRunner } from '../admin/bulk-runner.ts'
import type { Operator } from '../admin/operator.ts'
import type { Settlement } from '../model/outcome.ts'
import type { SendMap } from '../model/sends.ts'
import type { Source } from '../model/source.ts'
import type { Tracing } from '../model/tracing.ts'
import { Outbox } from '../outbox/outbox.ts'
import { ByteBudget } from '../receive/byte-budget.ts'
import { CommittedKeys } from '../receive/committed-keys.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'
import type { ReceiveContext } from '../receive/receive.ts'
import { StoreWatch } from '../receive/store-watch.ts'
import { DailyPrune } from '../retention/daily-prune.ts'
import type { Store } from '../store/contract/store.ts'
import { HappeningEmitter } from '../telemetry/emitter.ts'
import { logHappenings } from '../telemetry/logger.ts'
import type { Logger } from '../telemetry/logger.ts'
import { HandlerRegistry } from '../work/handler-registry.ts'
import type { ResolvedWorkerOptions } from '../work/options.ts'
import { Worker } from '../work/worker.ts'
import { createNotifier } from './notifier.ts'
import { findSchema } from './options.ts'
import type { ResolvedInboxOptions } from './options.ts'
import { createReceiveContext } from './receive-context.ts'
import { traceHandler } from './trace.ts'

export class InboxParts<Tx, Sql, Sends extends SendMap> {
  readonly store: Store<Sql, Tx>
  readonly sources: ReadonlyMap<string, Source>
  readonly handlers: HandlerRegistry
  readonly happenings = new HappeningEmitter()
  readonly stopLogging: () => void
  readonly tracing: Tracing | undefined
  readonly receiveOptions: ResolvedReceiveOptions
  /** Left out, this process runs no events. */
  readonly workerOptions: ResolvedWorkerOptions | undefined
  /** What the bodies of all deliveries on their way take together. */
  readonly inFlight: ByteBudget
  readonly context: ReceiveContext
  readonly watch: StoreWatch
  readonly outbox: Outbox<Sql, Sends>
  readonly notifier: ReturnType<typeof createNotifier>
  readonly bulkRunner = new BulkRunner()
  readonly dailyPrune: DailyPrune
  readonly admin: Operator
  /** The one that runs, if one does. */
  worker: Worker<Sql> | undefined
  readonly #logger: Logger
  readonly #committedKeys: CommittedKeys
  #opening: Promise<void> | undefined

  constructor(resolved: ResolvedInboxOptions<Tx, Sql>) {
    const { store, sources, tracing } = resolved
    const { happenings } = this
    this.store = store
    this.sources = sources
    this.tracing = tracing
    this.#logger = resolved.logger
    this.stopLogging = logHappenings(happenings, resolved.logger)
    this.receiveOptions = resolved.receive
    this.workerOptions = resolved.worker
    this.inFlight = new ByteBudget(resolved.receive.inFlightBytesMax)
    this.#committedKeys = new CommittedKeys(resolved.receive.rememberMax)
    this.notifier = createNotifier(store)
    this.handlers = new HandlerRegistry(new Set(sources.keys()), {
      defaults: resolved.handlerDefaults,
      findSchema: (source, type) => findSchema(sources.get(source), type),
      wrap: (name, run) => traceHandler(tracing, name, run),
    })
    this.outbox = new Outbox<Sql, Sends>({
      store: store.messages,
      destinations: resolved.destinations,
      tracing,
      relay: resolved.relay,
      happenings,
      isHistoryKnown: () => this.watch.isHistoryKnown,
    })
    this.watch = new StoreWatch({
      store,
      committedKeys: this.#committedKeys,
      happenings,
      onDue: () => this.wakeAll(),
      pauseSending: (reason) => this.outbox.pauseAll(reason),
    })
    this.dailyPrune = new DailyPrune({ store, policy: resolved.retention, happenings })
    this.context = this.#createReceiveContext()
    this.admin = this.#createOperator(resolved)
  }

  /** Opens the store, if it is not open yet. An opening that failed is tried again by the next caller. */
  open(): Promise<void> {
    this.#opening ??= this.store.open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async startWorker(
    options: ResolvedWorkerOptions,
    {
      isBrief,
      onSettled,
    }: {
      readonly isBrief: boolean
      readonly onSettled?: (state: Settlement['state']) => void
    },
  ): Promise<void> {
    const worker = new Worker<Sql>({
      isBrief,
      store: this.store,
      handlers: this.handlers,
      options,
      happenings: this.happenings,
      logger: this.#logger,
      keepsResult: (source) => this.sources.get(source)?.acknowledge === 'processed',
      onSettled: (eventId, state) => {
        // The redelivery of a dead event is a wish to try again, so it must reach the store.
        if (state === 'dead') this.#committedKeys.forget(eventId)
        this.context.outcomes.settled(eventId)
        onSettled?.(state)
      },
      outbox: {
        draft: (input) => this.outbox.draft(input),
        enqueue: (tx, drafts) => this.store.messages.enqueue(tx, drafts),
        onCommitted: () => {
          this.outbox.wake()
          this.notifier.notifySoon()
        },
      },
    })
    await worker.start()
    this.worker = worker
  }

  /** There may be something to do for the worker and the relay of this process. */
  wakeOwn(): void {
    this.worker?.wake()
    this.outbox.wake()
  }

  /** The same, and for those of other processes. */
  wakeAll(): void {
    this.wakeOwn()
    this.notifier.notifySoon()
  }

  #createReceiveContext(): ReceiveContext {
    return createReceiveContext({
      store: this.store,
      open: () => this.open(),
      sources: this.sources,
      options: this.receiveOptions,
      committedKeys: this.#committedKeys,
      happenings: this.happenings,
      watch: this.watch,
      onStored: (drafts) => {
        this.worker?.eventsStored(drafts)
        this.notifier.notifySoon()
      },
      onDue: () => {
        this.worker?.wake()
        this.notifier.notifySoon()
      },
    })
  }

  #createOperator({ retention }: ResolvedInboxOptions<Tx, Sql>): Operator {
    return bindOperator({
      store: this.store,
      open: () => this.open(),
      onForgotten: (id) => this.#committedKeys.forget(id),
      onDue: () => this.wakeAll(),
      onSendable: () => this.outbox.wake(),
      onPausesChanged: () => {
        this.worker?.pausesChanged()
        this.wakeAll()
      },
      onActed: (acted) => this.happenings.emit('operator.acted', acted),
      bulkRunner: this.bulkRunner,
      retention,
      happenings: this.happenings,
      writeSecretUses: () => {
        this.context.secrets.announce()
        return this.context.secrets.flush()
      },
    })
  }
}
