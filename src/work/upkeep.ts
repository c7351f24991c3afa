import { asError } from '../errors.ts'
import type { Heart, Store } from '../store/contract.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { HandlerRegistry } from './handlers.ts'
import { atMost, GOODBYE_MS } from './at-most.ts'
import { HeartWatch } from './heart-watch.ts'
import type { ResolvedWorkerOptions } from './options.ts'

export interface UpkeepContext {
  readonly store: Pick<
    Store<unknown>,
    | 'beatWorker'
    | 'removeWorker'
    | 'listHearts'
    | 'sweepWorkers'
    | 'releaseForgotten'
    | 'listUnhandled'
    | 'wakeUnhandled'
    | 'maintain'
  >
  readonly handlers: HandlerRegistry
  readonly options: ResolvedWorkerOptions
  readonly happenings: HappeningEmitter
  readonly workerId: string
  readonly onWoken: () => void
  /** The tokens of the leases that this worker works on. */
  readonly tokens: () => readonly number[]
}

const UNHANDLED_MS = 5_000
const MAINTAIN_MS = 3_600_000
const WAKE_BATCH = 1_000

/**
 * What a worker does beside running events: it shows that it lives, counts the crashes of those that do
 * not, wakes events that waited for a handler, and keeps the tables in shape.
 *
 * Each of these fails alone and is tried again at its next turn.
 */
export class Upkeep {
  readonly #context: UpkeepContext
  readonly #hearts: HeartWatch
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  #isStopped = false
  #beatAt = performance.now()

  constructor(context: UpkeepContext) {
    this.#context = context
    this.#hearts = new HeartWatch(context.workerId, context.options.deadAfterMs)
  }

  /** The first heartbeat must succeed: without a record no crash of this worker could be counted. */
  async start(): Promise<void> {
    const { store, options } = this.#context
    this.#beatAt = performance.now()
    await this.#beat()
    const beatMs = Math.max(100, Math.min(1_000, Math.floor(options.deadAfterMs / 5)))
    this.#repeat('show that it lives', beatMs, () => this.#beat())
    this.#repeat('look for dead workers', this.#hearts.lookMs, () => this.#sweep())
    this.#repeat('release leases that it does not know', Math.floor(options.deadAfterMs / 2), () =>
      this.#releaseForgotten(),
    )
    this.#repeat('wake unhandled events', UNHANDLED_MS, () => this.#wakeUnhandled())
    this.#repeat('keep the tables in shape', MAINTAIN_MS, () => store.maintain())
    this.#run('look for dead workers', () => this.#sweep())
    this.#run('wake unhandled events', () => this.#wakeUnhandled())
    this.#run('keep the tables in shape', () => store.maintain())
  }

  wakeUnhandledSoon(): void {
    this.#run('wake unhandled events', () => this.#wakeUnhandled())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers) clearInterval(timer)
    await atMost(GOODBYE_MS, this.#sayGoodbye())
  }

  /** A worker that says goodbye needs not be found dead. */
  async #sayGoodbye(): Promise<void> {
    await Promise.all(this.#running)
    await this.#context.store.removeWorker(this.#context.workerId)
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
    const { store, options, workerId, happenings } = this.#context
    const { deadAfterMs, concurrency } = options
    await store.beatWorker(workerId, concurrency)
    // By a clock that nobody sets, and that goes on while the process is stopped.
    const stoodStillMs = Math.round(performance.now() - this.#beatAt)
    this.#beatAt = performance.now()
    if (stoodStillMs > deadAfterMs)
      happenings.emit('worker.late', { workerId, stoodStillMs, deadAfterMs })
  }

  async #sweep(): Promise<void> {
    const { store, options, happenings, onWoken } = this.#context
    const stopped = this.#hearts.look(await this.#listHearts())
    if (stopped.length === 0) return
    const swept = await store.sweepWorkers({ stopped, crashesMax: options.crashesMax })
    for (const crashed of swept) happenings.emit('event.crashed', crashed)
    if (swept.length > 0) onWoken()
  }

  async #listHearts(): Promise<readonly Heart[]> {
    try {
      return await this.#context.store.listHearts()
    } catch (error) {
      this.#hearts.beginAnew()
      throw error
    }
  }

  async #releaseForgotten(): Promise<void> {
    const { store, workerId, onWoken, tokens } = this.#context
    if ((await store.releaseForgotten(workerId, tokens())) > 0) onWoken()
  }

  /** Matching is done here, by the same rule as for running, so that the two cannot disagree. */
  async #wakeUnhandled(): Promise<void> {
    const { store, handlers } = this.#context
    if (handlers.isEmpty) return
    let after: string | undefined
    do {
      const { pairs, next } = await store.listUnhandled({ limit: WAKE_BATCH, after })
      const known = pairs.filter(
        ({ source, type }) => handlers.findUnit(source, type) !== undefined,
      )
      if (known.length > 0) await this.#wake(known)
      after = next
    } while (after !== undefined && !this.#isStopped)
  }

  async #wake(pairs: readonly { source: string; type: string }[]): Promise<void> {
    let woken: number
    do {
      woken = await this.#context.store.wakeUnhandled(pairs, WAKE_BATCH)
      if (woken > 0) this.#context.onWoken()
    } while (woken === WAKE_BATCH && !this.#isStopped)
  }
}
