/**
 * The worker: takes due events and runs them until it is stopped.
 *
 * A number of slots each claim a group, run it and claim again; idle ones wait to be called
 * (`wake-up.ts`). Beside them the worker shows that it lives, looks for workers that do not, and wakes
 * events that waited for a handler which this process has.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { asError } from '../errors.ts'
import type {
  ClaimedEvent,
  ClaimRequest,
  Group,
  RunningEvent,
  Store,
  WorkerSlot,
} from '../store/contract.ts'
import type { GroupLeaseRequest } from '../store/steps-contract.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { Logger } from '../telemetry/logger.ts'
import { atMost } from './at-most.ts'
import { ClaimOrder } from './claim-order.ts'
import { chooseGroup, GroupSizes } from './group-sizes.ts'
import type { HandlerRegistry, HandlerUnit } from './handlers.ts'
import type { ResolvedWorkerOptions } from './options.ts'
import { Interruption } from './interruption.ts'
import type { HandlerOutbox } from './outgoing.ts'
import { opensLate } from './opens-late.ts'
import { Permits } from './permits.ts'
import { runGroup } from './run-group.ts'
import type { RunGroupContext } from './run-group.ts'
import { StepRunner } from './step-runner.ts'
import { Turns } from './turns.ts'
import { Upkeep } from './upkeep.ts'
import { WakeUp } from './wake-up.ts'
import { startWatchdog } from './watchdog.ts'
import type { Watchdog } from './watchdog.ts'

export interface WorkerContext<Tx> {
  readonly store: Store<Tx>
  readonly handlers: HandlerRegistry
  readonly options: ResolvedWorkerOptions
  readonly happenings: HappeningEmitter
  readonly logger: Logger
  readonly keepsResult: (source: string) => boolean
  readonly outbox: HandlerOutbox<Tx>
}

/** Inside a group a handler may wait this long for somebody else's row before the group is made smaller. */
const GROUP_LOCK_TIMEOUT_MS = 50
/** The database ends a transaction that has been idle for the handler's time and this much more. */
const IDLE_MARGIN_MS = 1_000
/** What is due and could not be claimed a moment ago is in somebody else's hands. */
const LOOK_AGAIN_MS = 20
/** Whoever has not let go by then waits for a database that does not answer: what it holds ends with the connection. */
const LET_GO_MS = 5_000

export class Worker<Tx> {
  /** Random per start: a worker that comes back with the same host and pid is another worker. */
  readonly id = randomUUID()
  readonly #context: WorkerContext<Tx>
  readonly #sizes: GroupSizes
  readonly #turns = new Turns()
  readonly #order = new ClaimOrder()
  readonly #wakeUp = new WakeUp()
  readonly #interruption = new Interruption()
  /** Ends what only waits. */
  readonly #stopping = new Interruption()
  readonly #upkeep: Upkeep
  /** One for each connection that handlers may hold at once. */
  readonly #permits: Permits
  readonly #steps: StepRunner<Tx>
  readonly #runsAlone = new Set<string>()
  /** The slots whose record lists events. */
  readonly #announced = new Set<number>()
  #slots: Promise<void>[] = []
  #watchdog: Watchdog | undefined
  #isStopping = false

  constructor(context: WorkerContext<Tx>) {
    this.#context = context
    this.#sizes = new GroupSizes(context.options)
    this.#permits = new Permits(context.options.concurrency)
    this.#steps = new StepRunner({
      ...context,
      workerId: this.id,
      stepsMax: context.options.stepsMax,
      interruption: this.#interruption,
      permits: this.#permits,
      findUnit: (event) => this.#findUnit(event),
      onRoom: () => this.wake(),
    })
    this.#upkeep = new Upkeep({
      ...context,
      workerId: this.id,
      onWoken: () => this.wake(),
      tokens: () => this.#steps.tokens,
    })
  }

  async start(): Promise<void> {
    const { options, happenings } = this.#context
    await this.#upkeep.start()
    if (options.blockedMs > 0) this.#watchdog = startWatchdog(options)
    this.#slots = Array.from({ length: options.concurrency }, (_, slot) =>
      this.#runSlot({ workerId: this.id, slot }),
    )
    happenings.emit('worker.started', { workerId: this.id, concurrency: options.concurrency })
  }

  /** There may be something to do. */
  wake(): void {
    this.#wakeUp.call()
  }

  /** Handlers were added: events that waited for one may be ready. */
  handlersChanged(): void {
    this.#upkeep.wakeUnhandledSoon()
    this.wake()
  }

  /** Takes nothing more, waits for what runs, and after the grace period lets go of the rest. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopping.interrupt()
    this.#wakeUp.close()
    const { stopGraceMs } = this.#context.options
    const grace = setTimeout(() => this.#interruption.interrupt(), stopGraceMs)
    await atMost(stopGraceMs + LET_GO_MS, Promise.all(this.#slots))
    await this.#steps.idle()
    clearTimeout(grace)
    await this.#upkeep.stop()
    await this.#watchdog?.stop()
    this.#context.happenings.emit('worker.stopped', { workerId: this.id })
  }

  async #runSlot(slot: WorkerSlot): Promise<void> {
    const context = this.#createRunContext(slot)
    let troubles = 0
    for (let turn = 1; !this.#isStopping; turn += 1) {
      const giveBack = await this.#permits.take()
      try {
        const claimed = await this.#claim(slot, turn)
        if (claimed === undefined) {
          giveBack()
          await this.#idle(slot)
          continue
        }
        // There may be more; whoever is idle looks.
        this.#wakeUp.call()
        const end = claimed === 'leased' ? 'settled' : await runGroup(context, claimed)
        troubles = end === 'settled' ? 0 : troubles + 1
      } catch (error) {
        troubles += 1
        this.#reportError('claim events', error)
      } finally {
        giveBack()
      }
      if (troubles > 0) await this.#pause(Math.min(2_000, 25 * 2 ** Math.min(troubles, 10)))
    }
  }

  /** A group to run, or `leased` when what was found is running already. */
  async #claim(slot: WorkerSlot, turn: number): Promise<Group<Tx> | 'leased' | undefined> {
    // Without a handler it could only park what another process may know how to run.
    if (this.#context.handlers.isEmpty || this.#isFull()) return undefined
    for (const kind of this.#order.listKinds(turn)) {
      if (kind === 'leasable') {
        if (await this.#lease()) return 'leased'
        this.#order.noteEmpty(kind)
        continue
      }
      const group = await this.#context.store.claimGroup(this.#createRequest(slot, kind))
      if (group === undefined) {
        this.#order.noteEmpty(kind)
        continue
      }
      const [first] = group.events
      if (first === undefined || this.#findUnit(first)?.isSteps !== true) return group
      this.#steps.start(await group.lease(this.#leaseRequest()))
      return 'leased'
    }
    return undefined
  }

  /** Whether nothing that could be found could be run now. */
  #isFull(): boolean {
    return this.#steps.room === 0 && this.#context.handlers.hasOnlySteps
  }

  async #lease(): Promise<boolean> {
    const { store, options } = this.#context
    const request = this.#leaseRequest()
    if (request.limit === 0) return false
    // A crash may have been a deploy, and costs nothing; before the one that would be its last, it runs alone.
    const aloneFrom = Math.max(1, options.crashesMax - 1)
    const leased = await store.leaseDue({ ...request, aloneFrom })
    this.#steps.start(leased)
    return leased.length > 0
  }

  #leaseRequest(): GroupLeaseRequest {
    return {
      workerId: this.id,
      limit: this.#steps.room,
      leaseMs: this.#context.options.deadAfterMs,
    }
  }

  #createRequest(slot: WorkerSlot, kind: ClaimRequest['kind']): ClaimRequest {
    const isGroup = kind === 'fresh' && this.#context.options.groupMax > 1
    return {
      slot,
      kind,
      limit: isGroup ? this.#sizes.claimLimit() : 1,
      lockTimeoutMs: (chosen) => (chosen.length > 1 ? GROUP_LOCK_TIMEOUT_MS : 0),
      choose: (candidates) =>
        chooseGroup(candidates, {
          sizes: this.#sizes,
          findUnit: (event) => this.#findUnit(event),
          runsAlone: (event) => this.#runsAlone.has(event.eventId),
        }),
      idleTimeoutMs: (chosen) =>
        Math.max(1, ...chosen.map((event) => this.#findUnit(event)?.timeoutMs ?? 0)) +
        IDLE_MARGIN_MS,
      opensLate: (chosen) => opensLate(chosen, (event) => this.#findUnit(event)),
    }
  }

  #createRunContext(slot: WorkerSlot): RunGroupContext {
    const { store, happenings, logger, keepsResult, outbox } = this.#context
    return {
      store,
      happenings,
      logger,
      keepsResult,
      outbox,
      sizes: this.#sizes,
      turns: this.#turns,
      interruption: this.#interruption,
      findUnit: (event) => this.#findUnit(event),
      runAlone: (events) => this.#keepAlone(events),
      announce: (running) => this.#announce(slot, running),
      isStopping: () => this.#isStopping,
    }
  }

  #findUnit(event: ClaimedEvent): HandlerUnit | undefined {
    return this.#context.handlers.findUnit(event.source, event.type)
  }

  #keepAlone(events: readonly ClaimedEvent[]): void {
    // A memory of what was refused at COMMIT, not a ledger: forgetting it costs one more refusal.
    if (this.#runsAlone.size > 10_000) this.#runsAlone.clear()
    for (const { eventId } of events) this.#runsAlone.add(eventId)
  }

  async #announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    this.#announced.add(slot.slot)
    await this.#context.store.announce(slot, running)
  }

  async #idle(slot: WorkerSlot): Promise<void> {
    if (this.#announced.has(slot.slot)) await this.#context.store.announce(slot, [])
    this.#announced.delete(slot.slot)
    await this.#wakeUp.wait(async () => {
      const { pollMs } = this.#context.options
      if (this.#isFull()) return pollMs
      const exceptLeasable = this.#steps.room === 0
      const dueInMs = await this.#context.store.nextDueInMs({ exceptLeasable })
      return Math.min(Math.max(dueInMs ?? Infinity, LOOK_AGAIN_MS), pollMs)
    })
  }

  /** After trouble; ends at once when the worker is stopped. */
  async #pause(pauseMs: number): Promise<void> {
    if (this.#isStopping) return
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        stopListening()
        resolve()
      }
      const timer = setTimeout(end, pauseMs)
      const stopListening = this.#stopping.onInterrupt(end)
    })
  }

  #reportError(doing: string, error: unknown): void {
    this.#context.happenings.emit('worker.error', {
      workerId: this.id,
      doing,
      error: asError(error),
    })
  }
}
