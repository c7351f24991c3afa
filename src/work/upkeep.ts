import { setTimeout as pause } from 'node:timers/promises'
import { asError } from '../errors.ts'
import type { Topic } from '../model/topic.ts'
import type { LateTopic } from '../store/contract/lanes.ts'
import type { DueKind, DueTopic } from '../store/contract/queue.ts'
import type { Store } from '../store/contract/store.ts'
import type { HandledPattern, Heart } from '../store/contract/workers.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import { HeartWatch } from './heart-watch.ts'
import { slotCount } from './options.ts'
import type { ResolvedWorkerOptions } from './options.ts'
import type { PausedWork } from './paused-work.ts'
import type { SettlementListener } from './report-settlement.ts'
import { createMatcher } from '../model/type-matcher.ts'

export interface UpkeepContext extends SettlementListener {
  readonly store: Pick<
    Store<unknown>,
    'workers' | 'steps' | 'queue' | 'pauses' | 'lanes' | 'maintain'
  >
  readonly handlers: HandlerRegistry
  readonly options: ResolvedWorkerOptions
  readonly workerId: string
  readonly onWoken: () => void
  /** Whether this worker lives only for moments: what others do in their hours, it does at once. */
  readonly isBrief: boolean
  /** What is paused. */
  readonly paused: PausedWork
  /** Topics with something due that this worker has no handler for. */
  readonly takeForeign: () => readonly DueTopic[]
  /** The tokens of the leases that this worker works on. */
  readonly tokens: () => readonly number[]
  /** Sorts all events of a source into their lanes; `false` when another is at it. */
  readonly sortAll: (source: string) => Promise<boolean>
}

const UNHANDLED_MS = 5_000
const PARK_MS = 1_000
/** How late a worker may hear of a pause in another process, beside the time of the reading. */
const PAUSES_MS = 1_000
const DEADLINES_MS = 1_000
const MEND_MS = 5_000
const NEWS_MS = 1_000
const LANES_MAX = 200
const MAINTAIN_MS = 3_600_000
const WAKE_BATCH = 1_000
const PARK_BATCH = 500
const SUSPECT_MS = 50

/**
 * What a worker does beside running events: it shows that it lives, counts the crashes of those that do
 * not, wakes events that waited for a handler, and keeps the tables in shape.
 *
 * Each of these fails alone and is tried again when it is next due.
 */
export class Upkeep {
  readonly #context: UpkeepContext
  readonly #hearts: HeartWatch
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  #isStopped = false
  #isParking = false
  #beatAt = performance.now()

  constructor(context: UpkeepContext) {
    this.#context = context
    const { workerId, options, isBrief } = context
    this.#hearts = new HeartWatch(workerId, { deadAfterMs: options.deadAfterMs, isBrief })
  }

  /** The first heartbeat must succeed: without a record no crash of this worker could be counted. */
  async start(): Promise<void> {
    const { store, options } = this.#context
    this.#beatAt = performance.now()
    await this.#beat()
    // Before anything is claimed: what is paused must not run because its worker was started anew.
    await this.#readPauses()
    const beatMs = Math.max(100, Math.min(1_000, Math.floor(options.deadAfterMs / 5)))
    this.#repeat('show that it lives', beatMs, () => this.#beat())
    this.#repeat('look for dead workers', this.#hearts.lookMs, () => this.#sweep())
    this.#repeat(
      'give back leases that it does not know',
      Math.floor(options.deadAfterMs / 2),
      () => this.#giveBackForgotten(),
    )
    this.#repeat('wake unhandled events', UNHANDLED_MS, () => this.#wakeUnhandled())
    this.#repeat('park unhandled events', PARK_MS, () => this.#parkUnhandled())
    this.#repeat('read what is paused', PAUSES_MS, () => this.#readPauses())
    this.#repeat('pass the deadlines of lanes', DEADLINES_MS, () => this.#passDeadlines())
    this.#repeat('let lanes go on', MEND_MS, () => this.#mendBlocked())
    this.#repeat('tell of blocked lanes', NEWS_MS, () => this.#tellOfLanes())
    this.#repeat('keep the tables in shape', MAINTAIN_MS, () => store.maintain())
    this.#run('look for dead workers', () => this.#sweep())
    this.#run('wake unhandled events', () => this.#wakeUnhandled())
    this.#run('pass the deadlines of lanes', () => this.#passDeadlines())
    this.#run('let lanes go on', () => this.#mendBlocked())
    this.#run('keep the tables in shape', () => store.maintain())
  }

  /** Resolves when what was due at the start is done, and no worker is suspected of being dead. */
  async caughtUp(): Promise<void> {
    while (!this.#isStopped && (this.#running.size > 0 || this.#hearts.hasSuspect)) {
      await Promise.all(this.#running)
      if (this.#hearts.hasSuspect) await pause(SUSPECT_MS)
    }
  }

  /** There are other handlers: events may have one that had none, and the other workers are told. */
  handlersChanged(): void {
    this.#run('show that it lives', () => this.#beat())
    this.#run('wake unhandled events', () => this.#wakeUnhandled())
  }

  /** Something was paused or resumed in this process. */
  pausesChanged(): void {
    this.#run('read what is paused', () => this.#readPauses())
  }

  /** Something is due that this worker has no handler for. */
  parkUnhandledSoon(): void {
    if (this.#isParking) return
    this.#run('park unhandled events', () => this.#parkUnhandled())
  }

  /** Waits for the database as long as that takes; the caller has a limit. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#running)
    // One that cannot say goodbye is found dead later, and holds nothing by then.
    await this.#context.store.workers.remove(this.#context.workerId).catch(() => undefined)
  }

  #repeat(doing: string, everyMs: number, action: () => Promise<void>): void {
    let isRunning = false
    const timer = setInterval(() => {
      if (isRunning) return
      isRunning = true
      this.#run(doing, () => action().finally(() => (isRunning = false)))
    }, everyMs)
    this.#timers.add(timer)
  }

  #run(doing: string, action: () => Promise<void>): void {
    if (this.#isStopped) return
    const running = action().catch((cause: unknown) => {
      const error = asError(cause)
      this.#context.happenings.emit('worker.error', {
        workerId: this.#context.workerId,
        doing,
        error,
      })
    })
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  async #beat(): Promise<void> {
    const { store, handlers, options, workerId, happenings } = this.#context
    const { deadAfterMs } = options
    await store.workers.beat({ workerId, slots: slotCount(options), handles: handlers.handles })
    // By a clock that cannot be set, and that goes on while the process is stopped.
    const stoodStillMs = Math.round(performance.now() - this.#beatAt)
    this.#beatAt = performance.now()
    if (stoodStillMs > deadAfterMs)
      happenings.emit('worker.late', { workerId, stoodStillMs, deadAfterMs })
  }

  async #readPauses(): Promise<void> {
    const { store, paused, onWoken } = this.#context
    if (paused.update(await store.pauses.list())) onWoken()
  }

  async #sweep(): Promise<void> {
    const { store, options, happenings, onSettled, onWoken } = this.#context
    const stopped = this.#hearts.look(await this.#listHearts())
    if (stopped.length === 0) return
    const swept = await store.workers.sweep({ stopped, crashesMax: options.crashesMax })
    for (const crashed of swept) {
      if (crashed.dead) onSettled(crashed.eventId, 'dead')
      happenings.emit('event.crashed', crashed)
    }
    if (swept.length > 0) onWoken()
  }

  async #listHearts(): Promise<readonly Heart[]> {
    try {
      return await this.#context.store.workers.listHearts()
    } catch (error) {
      this.#hearts.beginAnew()
      throw error
    }
  }

  /** Events that have waited for as long as their order says. */
  async #passDeadlines(): Promise<void> {
    const { store, happenings, onSettled, onWoken } = this.#context
    let passed
    do {
      const late = await this.#listLate()
      passed = await store.lanes.passDeadlines({ late, limit: LANES_MAX })
      for (const { becomes, reason, ...event } of passed) {
        if (becomes === 'ready') continue
        onSettled(event.eventId, 'dead')
        happenings.emit('event.dead', { ...event, reason, handler: undefined, error: undefined })
      }
      if (passed.length > 0) onWoken()
    } while (passed.length >= LANES_MAX && !this.#isStopped)
  }

  /**
   * Those that this worker can tell are late. What they wait for may have been stored while no worker was there, or
   * while its source was paused, and is in no lane yet: it is sorted first.
   */
  async #listLate(): Promise<readonly LateTopic[]> {
    const { store, handlers, sortAll } = this.#context
    const late = (await store.lanes.listLate()).filter(
      ({ source, type }) => handlers.findUnit(source, type) !== undefined,
    )
    const sorted = new Set<string>()
    for (const source of new Set(late.map((each) => each.source)))
      if (!this.#isStopped && (await sortAll(source))) sorted.add(source)
    return late.filter(({ source }) => sorted.has(source))
  }

  /** Lanes behind an event that was dead, and is so no longer. */
  async #mendBlocked(): Promise<void> {
    const { store, onWoken } = this.#context
    if ((await store.lanes.mendBlocked(LANES_MAX)) > 0) onWoken()
  }

  /** Whatever blocked or freed them, and in which process: one worker of all tells it. */
  async #tellOfLanes(): Promise<void> {
    const { store, happenings } = this.#context
    let news
    do {
      news = await store.lanes.takeNews(LANES_MAX)
      for (const { isBlocked, ...about } of news)
        happenings.emit(isBlocked ? 'lane.blocked' : 'lane.freed', about)
    } while (news.length === LANES_MAX && !this.#isStopped)
  }

  async #giveBackForgotten(): Promise<void> {
    const { store, workerId, onWoken, tokens } = this.#context
    if ((await store.steps.giveBackForgotten(workerId, tokens())) > 0) onWoken()
  }

  /**
   * Parks what no living worker can run, so that it is seen, and is in the way of no claim. What another worker has
   * a handler for is left to that worker.
   */
  async #parkUnhandled(): Promise<void> {
    const { store, takeForeign } = this.#context
    if (this.#isParking) return
    this.#isParking = true
    try {
      const foreign = takeForeign()
      if (foreign.length === 0) return
      const handled = await store.workers.listHandled()
      const isHandled = createHandledMatcher(handled)
      const unhandled = foreign.filter(({ source, type }) => !isHandled(source, type))
      for (const kind of new Set(unhandled.map((due) => due.kind))) {
        const topics = unhandled.filter((due) => due.kind === kind).map(({ topic }) => topic)
        await this.#park(kind, topics)
      }
    } finally {
      this.#isParking = false
    }
  }

  /** A batch at a time, with a pause as long as the batch took: others have the database meanwhile. */
  async #park(kind: DueKind, topics: readonly Topic[]): Promise<void> {
    const { store, happenings, onSettled } = this.#context
    for (;;) {
      const startedAt = performance.now()
      const parked = await store.queue.parkUnhandled({ kind, topics, limit: PARK_BATCH })
      for (const event of parked) {
        onSettled(event.eventId, 'unhandled')
        happenings.emit('event.unhandled', event)
      }
      if (parked.length < PARK_BATCH || this.#isStopped) return
      await pause(performance.now() - startedAt)
    }
  }

  /** Matching is done here, by the same rule as for running, so that the two cannot disagree. */
  async #wakeUnhandled(): Promise<void> {
    const { store, handlers } = this.#context
    if (handlers.isEmpty) return
    for (let after = -1; !this.#isStopped;) {
      const page = await store.queue.listUnhandled({ limit: WAKE_BATCH, after })
      const known = page.filter(({ source, type }) => handlers.findUnit(source, type) !== undefined)
      if (known.length > 0) await this.#wake(known.map(({ topic }) => topic))
      const last = page.at(-1)
      if (last === undefined || page.length < WAKE_BATCH) return
      after = last.topic
    }
  }

  async #wake(topics: readonly Topic[]): Promise<void> {
    let woken: number
    do {
      woken = await this.#context.store.queue.wakeUnhandled(topics, WAKE_BATCH)
      if (woken > 0) this.#context.onWoken()
    } while (woken === WAKE_BATCH && !this.#isStopped)
  }
}

function createHandledMatcher(
  handled: readonly HandledPattern[],
): (source: string, type: string) => boolean {
  const patterns = new Map<string, string[]>()
  for (const [source, pattern] of handled)
    patterns.set(source, [...(patterns.get(source) ?? []), pattern])
  const matchers = new Map([...patterns].map(([source, list]) => [source, createMatcher(list)]))
  return (source, type) => matchers.get(source)?.(type) ?? false
}
