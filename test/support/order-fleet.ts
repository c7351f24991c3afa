/**
 * Workers and a receiver on one database that live through a story: deliveries that arrive in any order and several
 * times, handlers that fail, and processes that die at a given moment, each followed by another one.
 *
 * They are processes as the test kit has them (`src/testing/kit/mortal-store.ts`): what a dead one had open is rolled
 * back, what it asks for is not done, and its claims and leases stay for others to find. Kills of real processes are in
 * `test/faults/lanes.test.ts`.
 *
 * @module
 */

import type { WebhookEvent } from '../../src/model/event.ts'
import type { CrashPoint } from '../../src/testing/kit/crash-points.ts'
import { makeMortal } from '../../src/testing/kit/mortal-store.ts'
import type { MortalStore } from '../../src/testing/kit/mortal-store.ts'
import { deliverOnce } from './ordered-inbox.ts'
import type { OrderedInbox, OrderedSetup, Sent } from './ordered-inbox.ts'
import type { QueryTx } from './store-under-test.ts'
import { until } from './faults/until.ts'

/** A process dies when those of its kind have come to a point so many times, all together. */
export interface Death {
  readonly point: CrashPoint
  readonly nth: number
}

/** What a fleet meets. */
export interface Story {
  /** In the order in which they arrive; the same one more than once. */
  readonly arrivals: readonly Sent[]
  /** How often the handler of an event fails. */
  readonly failures: ReadonlyMap<string, number>
  readonly deaths: readonly Death[]
  readonly isSteps: boolean
}

/** Gives a new worker its handlers, which do `work` in their transaction. */
export type Register = (inbox: OrderedInbox, work: Work) => void
export type Work = (event: WebhookEvent<Sent>, tx: QueryTx, apply: Apply) => Promise<void>
type Apply = () => Promise<void>

interface Life {
  readonly inbox: OrderedInbox
  readonly mortal: MortalStore<QueryTx, QueryTx>
  isDead: boolean
}

const WORKERS = 2
/** It is not the event that takes its worker down. */
const CRASHES_MAX = 100
const WORKER = {
  concurrency: 3,
  stopGraceMs: 1,
  // A record that a dead one wrote with its last breath is found as in production.
  deadAfterMs: 2_000,
  crashesMax: CRASHES_MAX,
}

export class Fleet {
  readonly #setup: OrderedSetup
  readonly #story: Story
  readonly #register: Register
  readonly #visits = new Map<CrashPoint, number>()
  readonly #tries = new Map<string, number>()
  readonly #lives = new Set<Life>()
  #replacing: Promise<unknown> = Promise.resolve()
  #receiver: Life
  #isOver = false
  /** How many processes have died. */
  deaths = 0

  private constructor(setup: OrderedSetup, story: Story, register: Register) {
    this.#setup = setup
    this.#story = story
    this.#register = register
    this.#receiver = this.#newLife(false)
  }

  static async start(setup: OrderedSetup, story: Story, register: Register): Promise<Fleet> {
    const fleet = new Fleet(setup, story, register)
    await Promise.all(Array.from({ length: WORKERS }, () => fleet.#startWorker()))
    return fleet
  }

  /** A sender delivers again until it is answered. Their ids, in the order of their first arrival. */
  async deliver(arrivals: readonly Sent[] = this.#story.arrivals): Promise<readonly string[]> {
    const ids = new Set<string>()
    for (const sent of arrivals) {
      let eventId = await deliverOnce(this.#receiver.inbox, sent)
      while (eventId === undefined) {
        if (this.#receiver.isDead) this.#receiver = this.#newLife(false)
        eventId = await deliverOnce(this.#receiver.inbox, sent)
      }
      ids.add(eventId)
    }
    return [...ids]
  }

  /** Until each of the events has a state of these. */
  async untilIn(ids: readonly string[], states: readonly string[]): Promise<void> {
    await until(`all are ${states.join(' or ')}`, () => this.areIn(ids, states))
  }

  async areIn(ids: readonly string[], states: readonly string[]): Promise<boolean> {
    const found = await Promise.all(ids.map((id) => this.#setup.find(id)))
    return found.every(({ state }) => states.includes(state))
  }

  /** Lets what waits have waited for so long. */
  async passTime(ms: number): Promise<void> {
    await this.#setup.passTime(ms)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#replacing
    await Promise.all([...this.#lives].map(({ inbox }) => inbox.stop()))
  }

  async #startWorker(): Promise<void> {
    if (this.#isOver) return
    const life = this.#newLife(true)
    this.#register(life.inbox, (event, tx, apply) => this.#work(life, event, apply))
    await life.inbox.start()
  }

  async #work(life: Life, event: WebhookEvent<Sent>, apply: Apply): Promise<void> {
    const { id } = event.payload
    await this.#pass(life, 'before-handler')
    const tried = (this.#tries.get(id) ?? 0) + 1
    this.#tries.set(id, tried)
    if (tried <= (this.#story.failures.get(id) ?? 0)) throw new Error('not yet')
    await apply()
    await this.#pass(life, 'after-handler')
  }

  #newLife(isWorker: boolean): Life {
    const through = (store: Parameters<typeof makeMortal<QueryTx, QueryTx>>[0]) => {
      const hooks = {
        reach: (point: CrashPoint) => this.#reach(life, point),
        isDead: () => life.isDead,
      }
      life.mortal = makeMortal(store, hooks)
      return life.mortal.store
    }
    const life = { isDead: false } as { -readonly [Name in keyof Life]: Life[Name] }
    life.inbox = this.#setup.newInbox(isWorker ? WORKER : false, {}, through)
    this.#lives.add(life)
    return life
  }

  /** For the store: fails at the point of death, as all does from then on. */
  async #reach(life: Life, point: CrashPoint): Promise<void> {
    if (life.isDead || !this.#isTime(point)) return
    await this.#die(life)
    throw new Error(`The process has died: ${point}`)
  }

  /** For a handler: it does not go on from the point of death. */
  async #pass(life: Life, point: CrashPoint): Promise<void> {
    if (!life.isDead && !this.#isTime(point)) return
    await this.#die(life)
    await new Promise(() => undefined)
  }

  #isTime(point: CrashPoint): boolean {
    const visits = (this.#visits.get(point) ?? 0) + 1
    this.#visits.set(point, visits)
    return this.#story.deaths.some((death) => death.point === point && death.nth === visits)
  }

  async #die(life: Life): Promise<void> {
    if (life.isDead) return
    life.isDead = true
    this.deaths += 1
    await life.mortal.dropConnections()
    const isWorker = life !== this.#receiver
    this.#replacing = this.#replacing.then(() => this.#replace(life, isWorker))
  }

  async #replace(dead: Life, isWorker: boolean): Promise<void> {
    const { workers } = this.#setup.store
    const hearts = await workers.listHearts()
    const stopped = hearts.filter(({ workerId }) => dead.mortal.workerIds.has(workerId))
    // What other workers do when a heart has stood still for `deadAfterMs`, without the wait.
    await workers.sweep({ stopped, crashesMax: CRASHES_MAX })
    if (isWorker) await this.#startWorker()
    await dead.inbox.stop()
  }
}
