/**
 * One life of the process under test: a store, an inbox on it, and its handlers. When it dies, another one is made on
 * the same database.
 *
 * @module
 */

import { createInbox } from '../../inbox/inbox.ts'
import type { Inbox } from '../../inbox/inbox.ts'
import type { InboxOptions } from '../../inbox/options.ts'
import type { SourceMap } from '../../model/event-types.ts'
import type { Destination } from '../../outbox/destination.ts'
import type { Store } from '../../store/contract/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CrashPoint } from './crash-points.ts'
import { makeMortal } from './mortal-store.ts'
import type { MortalStore } from './mortal-store.ts'
import { sinkFor } from './sink.ts'
import type { SinkContext } from './sink.ts'
import { watchHandlers } from './watch-handlers.ts'
import type { HandlerWatch } from './watch-handlers.ts'

export interface ProcessPlan<Sources extends SourceMap, Tx, Sql> {
  readonly makeStore: () => Store<Sql, Tx>
  readonly options: Omit<InboxOptions<Sources, Tx, Sql>, 'store' | 'destinations' | 'logger'>
  readonly destinations: readonly Destination[]
  readonly logger: Logger
  readonly register: (inbox: Inbox<Sources, Tx, Sql>) => unknown
  readonly sink: Omit<SinkContext, 'pass'>
  readonly watch: Omit<HandlerWatch, 'pass' | 'isArmed' | 'note'>
  /** Whether the process is to die at a point, and is asked about no other from then on. */
  readonly takesCrash: (point: CrashPoint) => boolean
  readonly isArmed: (point: CrashPoint) => boolean
  /** Counts a visit to a point at which the process does not die. */
  readonly noteVisit: (point: CrashPoint) => void
}

export class TestProcess<Sources extends SourceMap, Tx, Sql> {
  readonly inbox: Inbox<Sources, Tx, Sql>
  /** The store itself, for code outside of the process. */
  readonly store: Store<Sql, Tx>
  /** Resolves with the point at which it died. */
  readonly died: Promise<CrashPoint>
  readonly #mortal: MortalStore<Sql, Tx>
  readonly #plan: ProcessPlan<Sources, Tx, Sql>
  #isDead = false
  #onDeath: (point: CrashPoint) => void = () => undefined

  private constructor(plan: ProcessPlan<Sources, Tx, Sql>) {
    this.#plan = plan
    this.died = new Promise((resolve) => (this.#onDeath = resolve))
    this.store = plan.makeStore()
    const hooks = {
      reach: (point: CrashPoint) => this.#reach(point),
      isDead: () => this.#isDead,
    }
    this.#mortal = makeMortal(this.store, hooks)
    const pass = (point: CrashPoint) => this.#pass(point)
    this.inbox = createInbox({
      ...plan.options,
      store: this.#mortal.store,
      destinations: plan.destinations.map((one) => sinkFor(one, { ...plan.sink, pass })),
      logger: whileAlive(plan.logger, () => !this.#isDead),
    })
  }

  static async start<Sources extends SourceMap, Tx, Sql>(
    plan: ProcessPlan<Sources, Tx, Sql>,
  ): Promise<TestProcess<Sources, Tx, Sql>> {
    const life = new TestProcess(plan)
    const { isArmed, watch } = plan
    const pass = (point: CrashPoint) => life.#pass(point)
    const note = (point: CrashPoint) => {
      if (!life.isDead) plan.noteVisit(point)
    }
    // Opens the store.
    await life.inbox.admin.countEvents()
    await plan.register(watchHandlers(life.inbox, { ...watch, isArmed, pass, note }))
    return life
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get workerIds(): ReadonlySet<string> {
    return this.#mortal.workerIds
  }

  /**
   * Ends what a dead process leaves in this one: timers and open files. All that it asks for on its way is refused,
   * so that it changes nothing.
   */
  async bury(): Promise<void> {
    await this.inbox.stop()
  }

  /** For the store: fails at the point of death, as everything does from then on. */
  async #reach(point: CrashPoint): Promise<void> {
    if (this.#isDead || !this.#plan.takesCrash(point)) return
    await this.#die(point)
    throw new Error(`The process has died: ${point}`)
  }

  /** For the user's code: it does not go on from the point of death, and cannot catch it. */
  async #pass(point: CrashPoint): Promise<void> {
    if (!this.#isDead && !this.#plan.takesCrash(point)) return
    await this.#die(point)
    await new Promise(() => undefined)
  }

  async #die(point: CrashPoint): Promise<void> {
    if (this.#isDead) return
    this.#isDead = true
    await this.#mortal.dropConnections()
    this.#onDeath(point)
  }
}

/** A dead process says nothing. */
function whileAlive(logger: Logger, isAlive: () => boolean): Logger {
  const say =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['debug'] =>
    (fields, message) => {
      if (isAlive()) logger[level](fields, message)
    }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}
