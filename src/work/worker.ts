/**
 * The worker: takes due events and runs them until it is stopped.
 *
 * A number of slots each ask what is next (`agenda.ts`), claim it, run it and ask again; idle ones wait to be
 * called (`wake-up.ts`). Beside them the worker shows that it lives, looks for workers that have died, and parks and
 * wakes events without a handler (`upkeep.ts`).
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { asError } from '../errors.ts'
import type { EventDraft } from '../model/event.ts'
import { Topics } from '../model/topic.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import type { Store } from '../store/contract/store.ts'
import type { RunningEvent, WorkerSlot } from '../store/contract/workers.ts'
import type { Logger } from '../telemetry/logger.ts'
import { Agenda, isSort } from './agenda.ts'
import type { Plan } from './agenda.ts'
import { createClaim } from './create-claim.ts'
import { atMost, GOODBYE_MS, INTERRUPTED_MS } from '../flow/at-most.ts'
import { GroupSizes } from './group/group-sizes.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import type { HandlerUnit } from './handler-unit.ts'
import { LaneWork } from './lane-work.ts'
import { slotCount } from './options.ts'
import type { ResolvedWorkerOptions } from './options.ts'
import { Interruption } from '../flow/interruption.ts'
import type { HandlerOutbox } from './outgoing.ts'
import { PausedWork } from './paused-work.ts'
import { Permits } from '../flow/permits.ts'
import { runGroup } from './group/run-group.ts'
import type { RunGroupContext } from './group/run-group.ts'
import { StepRunner } from './steps/step-runner.ts'
import type { SettlementListener } from './report-settlement.ts'
import { TopicHealth } from './topic-health.ts'
import { ContentionQueue } from './group/contention-queue.ts'
import { Upkeep } from './upkeep.ts'
import { WakeUp } from '../flow/wake-up.ts'
import { startWatchdog } from './watchdog.ts'
import type { Watchdog } from './watchdog.ts'

export interface WorkerContext<Tx> extends SettlementListener {
  readonly store: Store<Tx, unknown>
  readonly handlers: HandlerRegistry
  readonly options: ResolvedWorkerOptions
  readonly logger: Logger
  readonly keepsResult: (source: string) => boolean
  readonly outbox: HandlerOutbox<Tx>
  /** Whether the worker lives only until nothing is left to do or its time is over, as for `runDue`. */
  readonly isBrief: boolean
}

/** How soon an idle worker looks again after a claim that found nothing of what a look had seen. */
const LOOK_AGAIN_MS = 20

export class Worker<Tx> {
  /** Random per start: a worker that comes back with the same host and pid is another worker. */
  readonly id = randomUUID()
  readonly #context: WorkerContext<Tx>
  readonly #sizes: GroupSizes
  readonly #health: TopicHealth
  readonly #agenda: Agenda
  readonly #topics = new Topics()
  readonly #paused = new PausedWork()
  readonly #contention = new ContentionQueue()
  readonly #wakeUp = new WakeUp()
  readonly #interruption = new Interruption()
  /** Ends the pauses of slots that wait, when the worker is stopped. */
  readonly #stopping = new Interruption()
  readonly #upkeep: Upkeep
  /** One for each connection that handlers may hold at once. */
  readonly #permits: Permits
  readonly #steps: StepRunner<Tx>
  readonly #lanes: LaneWork
  readonly #runsAlone = new Set<string>()
  /** The slots whose record lists events. */
  readonly #announced = new Set<number>()
  #slots: Promise<void>[] = []
  /** How many slots have nothing to do. */
  #idleSlots = 0
  /** How often a slot had something to do. */
  #plansBegun = 0
  #onRest: (() => void) | undefined
  #watchdog: Watchdog | undefined
  #isStopping = false

  constructor(context: WorkerContext<Tx>) {
    this.#context = context
    this.#sizes = new GroupSizes(context.options)
    this.#health = new TopicHealth({ slowMs: context.options.groupBudgetMs })
    this.#permits = new Permits(slotCount(context.options))
    this.#steps = new StepRunner({
      ...context,
      workerId: this.id,
      stepsMax: context.options.stepsMax,
      interruption: this.#interruption,
      permits: this.#permits,
      health: this.#health,
      findUnit: (event) => this.#findUnit(event),
      onRoom: () => this.#wakeUp.call(),
      onLeft: (event) => this.#lanes.moved([event]),
    })
    this.#upkeep = new Upkeep({
      ...context,
      workerId: this.id,
      onWoken: () => this.wake(),
      paused: this.#paused,
      takeForeign: () => this.#agenda.takeForeign(),
      tokens: () => this.#steps.tokens,
      sortAll: (source) => this.#lanes.sortAll(source),
    })
    this.#lanes = new LaneWork({
      ...context,
      agenda: () => this.#agenda,
      findUnit: (event) => this.#findUnit(event),
      onFound: () => this.#wakeUp.call(),
    })
    this.#agenda = new Agenda({
      ...context,
      sizes: this.#sizes,
      health: this.#health,
      look: (request) => context.store.queue.look(request),
      isPaused: (source, unit) => this.#paused.has(source, unit),
      stepRoom: (due, promised) => this.#steps.roomFor(due, promised),
      onFound: () => this.#wakeUp.call(),
      onForeign: () => this.#upkeep.parkUnhandledSoon(),
      onError: (error) => {
        if (!this.#isStopping) this.#reportError('look for events', error)
      },
    })
  }

  async start(): Promise<void> {
    const { options, happenings } = this.#context
    await this.#upkeep.start()
    if (options.blockedMs > 0) this.#watchdog = startWatchdog(options)
    this.#slots = Array.from({ length: slotCount(options) }, (_, slot) =>
      this.#runSlot({ workerId: this.id, slot }),
    )
    happenings.emit('worker.started', { workerId: this.id, concurrency: options.concurrency })
  }

  /** Something may be due. A look at the queue tells what. */
  wake(): void {
    this.#agenda.lookSoon()
    this.#wakeUp.call()
  }

  /** This process has stored events, whose topics are known without a look at the queue. */
  eventsStored(drafts: readonly EventDraft[]): void {
    let isNews = false
    for (const { source, type } of drafts) {
      const topic = this.#topics.of(source, type)
      isNews = this.#agenda.add({ kind: 'fresh', topic, source, type }) || isNews
    }
    // Where the agenda knew already that the topic has something due, a slot was called for it, or is claiming it.
    if (isNews) this.#wakeUp.call()
  }

  /** Handlers were added: events that waited for one may be ready. */
  handlersChanged(): void {
    this.#agenda.handlersChanged()
    this.#upkeep.handlersChanged()
    this.wake()
  }

  /** Something was paused or resumed in this process. */
  pausesChanged(): void {
    this.#upkeep.pausesChanged()
  }

  /**
   * Resolves when nothing is due that this worker could run, with the time until the next event is due. An event that
   * is stored later may be due before that.
   */
  async untilIdle(): Promise<number | undefined> {
    await this.#upkeep.caughtUp()
    while (!this.#isStopping) {
      if (!this.#isAtRest) await new Promise<void>((resolve) => (this.#onRest = resolve))
      // A slot may have begun again since.
      if (!this.#isAtRest) continue
      const begun = this.#plansBegun
      // A look that is under way may have begun before the last event was done.
      await this.#agenda.idle()
      const dueInMs = await this.#agenda.lookAround()
      // What a slot has run beside this look, the look may have seen as running: not when it is due again.
      const hasRested = this.#isAtRest && this.#plansBegun === begun
      if (dueInMs !== 0 && hasRested) return dueInMs
      this.#wakeUp.call()
      // Another worker holds what is due and could not be claimed.
      await this.#stopping.pause(LOOK_AGAIN_MS)
    }
    return undefined
  }

  get #isAtRest(): boolean {
    const slots = slotCount(this.#context.options)
    return this.#idleSlots === slots && this.#steps.tokens.length === 0
  }

  /**
   * Claims nothing more, waits for the events that run, and gives back the rest after the grace period. Work that has
   * not ended some seconds later waits for a database that does not answer, and ends with its connection.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopping.interrupt()
    this.#wakeUp.close()
    const { stopGraceMs } = this.#context.options
    const grace = setTimeout(() => this.#interruption.interrupt(), stopGraceMs)
    await atMost(stopGraceMs + INTERRUPTED_MS, this.#idleWhole())
    clearTimeout(grace)
    await atMost(GOODBYE_MS, Promise.all([this.#agenda.idle(), this.#upkeep.stop()]))
    await this.#watchdog?.stop()
    this.#context.happenings.emit('worker.stopped', { workerId: this.id })
  }

  /** A slot that ends may have leased events, so their end is waited for after its own. */
  async #idleWhole(): Promise<void> {
    await Promise.all(this.#slots)
    await this.#steps.idle()
  }

  async #runSlot(slot: WorkerSlot): Promise<void> {
    const context = this.#createRunContext(slot)
    let troubles = 0
    let hasWorked = false
    for (let round = 1; !this.#isStopping; round += 1) {
      const giveBack = await this.#permits.take()
      try {
        const plan = this.#agenda.next(round) ?? (await this.#agenda.nextAfterLook(round))
        if (plan === undefined) {
          giveBack()
          // The events that this slot ran may be due again soon, and the slot that waits with a limit has not looked
          // since.
          if (hasWorked && !this.#agenda.isBusy) this.#wakeUp.call()
          hasWorked = false
          await this.#idle(slot)
          continue
        }
        hasWorked = true
        this.#plansBegun += 1
        // There may be more; an idle slot asks.
        this.#wakeUp.call()
        const end = await this.#carryOut(context, slot, plan)
        troubles = end === 'settled' ? 0 : troubles + 1
      } catch (error) {
        troubles += 1
        this.#reportError('claim events', error)
      } finally {
        giveBack()
      }
      if (troubles > 0)
        await this.#stopping.pause(Math.min(2_000, 25 * 2 ** Math.min(troubles, 10)))
    }
  }

  async #carryOut(
    context: RunGroupContext,
    slot: WorkerSlot,
    plan: Plan,
  ): Promise<'settled' | 'abandoned'> {
    const startedAt = performance.now()
    let events: readonly ClaimedEvent[] = []
    try {
      const first = plan.topics[0]?.due
      if (first !== undefined && isSort(first)) {
        events = (await this.#lanes.sort(first.source)) ?? []
        return 'settled'
      }
      if (plan.kind === 'leasable') {
        events = await this.#lease(plan)
        return 'settled'
      }
      const group = await this.#context.store.queue.claim(createClaim(slot, plan.kind, plan.topics))
      if (group === undefined) return 'settled'
      events = group.events
      const unsorted = events.filter((event) => this.#lanes.isUnsorted(event))
      if (unsorted.length > 0) {
        await group.abandon()
        return await this.#lanes.sortTried(unsorted)
      }
      this.#agenda.claimed(plan, events)
      if (first?.unit.isSteps !== true) {
        const end = await runGroup(context, group)
        this.#lanes.moved(events)
        return end
      }
      const limit = plan.topics[0]?.limit ?? 1
      this.#steps.start(await group.lease({ ...this.#leaseTerms(), limit }))
      return 'settled'
    } finally {
      this.#agenda.ended(plan, { events, ranMs: performance.now() - startedAt })
    }
  }

  async #lease({ topics }: Plan): Promise<readonly ClaimedEvent[]> {
    const { store, options } = this.#context
    // A crash may have been a deploy. An event that the next crash would make dead runs alone.
    const aloneFrom = Math.max(1, options.crashesMax - 1)
    const leased = await store.steps.lease({ ...this.#leaseTerms(), topics, aloneFrom })
    this.#steps.start(leased)
    return leased
  }

  #leaseTerms(): { workerId: string; leaseMs: number } {
    return { workerId: this.id, leaseMs: this.#context.options.deadAfterMs }
  }

  #createRunContext(slot: WorkerSlot): RunGroupContext {
    const { store, happenings, onSettled, logger, keepsResult, outbox } = this.#context
    return {
      store,
      happenings,
      onSettled,
      logger,
      keepsResult,
      outbox,
      sizes: this.#sizes,
      health: this.#health,
      contention: this.#contention,
      interruption: this.#interruption,
      findUnit: (event) => this.#findUnit(event),
      runAlone: (events) => this.#keepAlone(events),
      runsAlone: (event) => this.#runsAlone.has(event.eventId),
      announce: (running) => this.#announce(slot, running),
      isStopping: () => this.#isStopping,
    }
  }

  #findUnit(event: ClaimedEvent): HandlerUnit | undefined {
    return this.#context.handlers.findUnit(event.source, event.type)
  }

  #keepAlone(events: readonly ClaimedEvent[]): void {
    // Which events were refused at COMMIT is only remembered: forgetting it costs one more refusal.
    if (this.#runsAlone.size > 10_000) this.#runsAlone.clear()
    for (const { eventId } of events) this.#runsAlone.add(eventId)
  }

  async #announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    this.#announced.add(slot.slot)
    await this.#context.store.workers.announce(slot, running)
  }

  async #idle(slot: WorkerSlot): Promise<void> {
    if (this.#announced.has(slot.slot)) await this.#context.store.workers.announce(slot, [])
    this.#announced.delete(slot.slot)
    this.#idleSlots += 1
    if (this.#isAtRest) this.#onRest?.()
    try {
      await this.#wakeUp.wait(() => this.#findWaitMs())
    } finally {
      this.#idleSlots -= 1
    }
  }

  /** How long a slot that has nothing to do waits before it looks again by itself. */
  async #findWaitMs(): Promise<number> {
    const { pollMs } = this.#context.options
    const dueInMs = await this.#agenda.lookAround()
    // Another worker holds what was due and could not be claimed a moment ago.
    const isVain = performance.now() - this.#agenda.emptyAt < LOOK_AGAIN_MS
    if (dueInMs === 0 && !isVain) return 0
    return Math.min(Math.max(dueInMs ?? Infinity, LOOK_AGAIN_MS), pollMs)
  }

  #reportError(doing: string, error: unknown): void {
    this.#context.happenings.emit('worker.error', {
      workerId: this.id,
      doing,
      error: asError(error),
    })
  }
}
