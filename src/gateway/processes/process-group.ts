/**
 * The parent of several gateways on one machine: starts them, starts again what dies, and passes signals on.
 *
 *     start ─▶ fork n ─▶ all have started
 *     a child dies ─▶ wait, longer each time ─▶ the config can be used? ─▶ fork another
 *     reload: all prepare ─▶ all take over, or all drop it ─▶ those that failed are replaced, one after the other
 *     stop: all drain ─▶ all are gone
 *
 * The children share one listening socket, through `node:cluster` with `SCHED_NONE`: whichever is free accepts, and
 * when it dies the system resets its connections, so that their senders come again at once. The default of Node, a
 * parent that accepts and hands connections on, leaves those open for ever that were on their way to a child that was
 * killed. A socket for each child (SO_REUSEPORT) needs Node 22.12, and loses what is queued for a child that dies.
 *
 * It also sums what they count, since Prometheus asks only one of them.
 *
 * What it leaves to others: everything that a gateway does. The parent opens no store and reads no delivery.
 *
 * @module
 */

import cluster from 'node:cluster'
import type { Worker as ChildProcess } from 'node:cluster'
import type { Logger } from '../../index.ts'
import { GroupCounts } from './group-counts.ts'
import type { Collected, OrderName, Report } from './orders.ts'

/** What a group is made of. */
export interface ProcessGroupOptions {
  readonly count: number
  readonly logger: Logger
  /** Why the config as it is now cannot be used by another child, if it cannot. */
  readonly checkConfig: () => Promise<string | undefined>
  /** How long the children may take to drain; what is still there then is killed. */
  readonly stopWithinMs: number
}

/** How all of them ended: the code that the parent ends with. */
export type GroupEnd = { readonly code: number }

/** The wait before a child that died is replaced, for the first time. It doubles up to the longest. */
const AGAIN_MS = 100
const AGAIN_MAX_MS = 30_000
/** One that has lived for so long did not die of its start. */
const SETTLED_MS = 60_000
/** How long a child may take to read a config. */
const ANSWER_MS = 30_000
/** How long one may take to open its store with it: a migration waits for other transactions for about a minute. */
const TAKE_MS = 120_000
/** How long one may take to say what it has counted; what it said before counts where it is too busy. */
const COUNT_MS = 1_000
const EXIT_FAILED = 1

/** Where a child is told its place in the group. It has not the prefix of a setting. */
const PLACE = 'PLACE_AMONG_GATEWAYS'

/** Whether this process has what only one of a group has: it is the first of them, or alone. */
export function isFirst(environment: NodeJS.ProcessEnv): boolean {
  return (environment[PLACE] ?? '0') === '0'
}

interface Death {
  readonly code: number
  readonly signal: string | null
  readonly place: number
  readonly livedMs: number
}

/** Children that are started again until the group is stopped. */
export class ProcessGroup {
  readonly #options: ProcessGroupOptions
  readonly #children = new Set<ChildProcess>()
  /** Those that hear what they are told. */
  readonly #listening = new WeakSet<ChildProcess>()
  readonly #started = new Set<ChildProcess>()
  readonly #waiting = new Map<number, (refusal: string | undefined) => void>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #counts = new GroupCounts<ChildProcess>()
  readonly #onGone: (end: GroupEnd) => void
  /** When the last child is gone. */
  readonly gone: Promise<GroupEnd>
  #number = 0
  #deaths = 0
  #hasStarted = false
  #isStopping = false
  #code = 0
  #reloading: Promise<unknown> = Promise.resolve()
  /** Those that could not take over what others have. */
  readonly #behind = new Set<ChildProcess>()
  #replacing: Promise<unknown> = Promise.resolve()
  readonly #onComplete = new Set<() => void>()

  constructor(options: ProcessGroupOptions) {
    this.#options = options
    let onGone: (end: GroupEnd) => void = () => undefined
    this.gone = new Promise((resolve) => (onGone = resolve))
    this.#onGone = onGone
  }

  start(): void {
    cluster.schedulingPolicy = cluster.SCHED_NONE
    for (let index = 0; index < this.#options.count; index += 1) this.#fork(index)
  }

  /**
   * All take over the config as it is now, or none does. Returns why it was refused, if it was. Where some take it over and
   * others fail, such as for want of a connection, the others are replaced by processes that begin with it.
   */
  reload(): Promise<string | undefined> {
    const reloaded = this.#reloading.then(() => this.#reload())
    this.#reloading = reloaded.catch(() => undefined)
    return reloaded
  }

  async #reload(): Promise<string | undefined> {
    if (this.#isStopping) return 'the processes are stopping'
    const children = [...this.#children]
    const refusals = await this.#askAll(children, 'prepare')
    const refusal = refusals.find((each) => each !== undefined)
    if (refusal !== undefined) {
      await this.#askAll(children, 'drop')
      return refusal
    }
    const failures = await this.#askAll(children, 'take', TAKE_MS)
    // What none of them can do, such as to open a database that is away, their successors could not do either.
    if (failures.every((each) => each !== undefined)) return failures[0]
    children.forEach((child, index) => {
      const reason = failures[index]
      if (reason === undefined) return void this.#behind.delete(child)
      this.#behind.add(child)
      const fields = { child: child.process.pid, reason }
      this.#options.logger.error(fields, 'config.not-taken: this process will be replaced')
    })
    this.#replacing = this.#replacing.then(() => this.#replaceBehind())
    return undefined
  }

  /** One after the other, and the next one when all run again: the others do the work meanwhile. */
  async #replaceBehind(): Promise<void> {
    // One that takes over a later config meanwhile leaves the set, and stays.
    for (const child of this.#behind) {
      this.#behind.delete(child)
      if (this.#isStopping || child.isDead()) continue
      const isComplete = new Promise<void>((resolve) => {
        child.once('exit', () => this.#onComplete.add(resolve))
      })
      child.process.kill('SIGTERM')
      const late = setTimeout(() => child.process.kill('SIGKILL'), this.#options.stopWithinMs)
      child.once('exit', () => clearTimeout(late))
      await isComplete
    }
  }

  /** Drains all of them; `gone` tells when that is over. */
  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#killAll('SIGTERM')
    this.#endIfEmpty()
    setTimeout(() => this.#killAll('SIGKILL'), this.#options.stopWithinMs).unref()
  }

  #killAll(signal: 'SIGTERM' | 'SIGKILL'): void {
    for (const child of this.#children) child.process.kill(signal)
  }

  #fork(place: number): void {
    const child = cluster.fork({ [PLACE]: String(place) })
    const forkedAt = performance.now()
    this.#children.add(child)
    child.on('message', (message: Report) => this.#hear(child, message))
    // What cannot be sent to a child that has just died is told by its exit.
    child.on('error', () => undefined)
    // Its exit may be told before the last of what it has said.
    child.on('disconnect', () => this.#counts.bury(child))
    child.on('exit', (code, signal) => {
      this.#children.delete(child)
      this.#started.delete(child)
      this.#bury(child, { code, signal, place, livedMs: performance.now() - forkedAt })
    })
  }

  #hear(child: ChildProcess, message: Report): void {
    if (message.report === 'answer') return this.#waiting.get(message.number)?.(message.refusal)
    if (message.report === 'listening') {
      this.#listening.add(child)
      child.emit('listening-to-parent')
      return
    }
    if (message.report === 'counted') return this.#counts.hear(child, message.counted)
    if (message.report === 'collect') return void this.#collect(child, message.number)
    this.#started.add(child)
    if (this.#started.size < this.#options.count) return
    const pids = [...this.#started].map(({ process: { pid } }) => pid)
    this.#options.logger.info({ pids }, 'processes.started')
    this.#hasStarted = true
    for (const resolve of this.#onComplete) resolve()
    this.#onComplete.clear()
  }

  /** The one that asks has just said what it has counted. */
  async #collect(asking: ChildProcess, number: number): Promise<void> {
    const others = [...this.#children].filter(
      (child) => child !== asking && this.#listening.has(child),
    )
    await this.#askAll(others, 'count', COUNT_MS)
    const answer: Collected = { collected: this.#counts.sum(), number }
    asking.send(answer, () => undefined)
  }

  #bury(child: ChildProcess, { code, signal, place, livedMs }: Death): void {
    if (this.#isStopping) {
      // A SIGTERM that came before it listened for one ends a process that has begun nothing.
      if (code !== 0 && signal !== 'SIGTERM') this.#code ||= EXIT_FAILED
      return this.#endIfEmpty()
    }
    const { logger } = this.#options
    // Trying again cannot help: it has said why, and the others are about to say the same.
    if (!this.#hasStarted && signal === null && code !== 0) {
      this.#code = code
      return this.stop()
    }
    this.#deaths = livedMs > SETTLED_MS ? 1 : this.#deaths + 1
    const againInMs = Math.min(AGAIN_MAX_MS, AGAIN_MS * 2 ** Math.min(this.#deaths - 1, 10))
    logger.error({ child: child.process.pid, code, signal, againInMs }, 'process.died')
    this.#forkIn(againInMs, place)
  }

  #forkIn(ms: number, place: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void this.#forkIfUsable(place)
    }, ms)
    this.#timers.add(timer)
  }

  /** A config that was refused while the others run must not become the config of one of them. */
  async #forkIfUsable(place: number): Promise<void> {
    const reason = await this.#options.checkConfig()
    if (this.#isStopping) return
    if (reason === undefined) return this.#fork(place)
    this.#options.logger.error({ reason }, 'process.not-started: the config cannot be used')
    this.#forkIn(AGAIN_MAX_MS / 6, place)
  }

  #askAll(
    children: readonly ChildProcess[],
    order: OrderName,
    withinMs = ANSWER_MS,
  ): Promise<readonly (string | undefined)[]> {
    return Promise.all(children.map((child) => this.#ask(child, order, withinMs)))
  }

  /** What the child refuses it for. One that dies refuses nothing: the next one begins with the config as it is. */
  #ask(child: ChildProcess, order: OrderName, withinMs: number): Promise<string | undefined> {
    this.#number += 1
    const number = this.#number
    return new Promise((resolve) => {
      const end = (refusal?: string): void => {
        clearTimeout(late)
        this.#waiting.delete(number)
        child.off('exit', onExit).off('listening-to-parent', tell)
        resolve(refusal)
      }
      const onExit = (): void => end()
      const tell = (): void => void child.send({ order, number }, () => undefined)
      const late = setTimeout(
        () => end(`process ${child.process.pid} did not answer within ${withinMs} ms`),
        withinMs,
      )
      this.#waiting.set(number, end)
      child.once('exit', onExit)
      if (child.isDead()) end()
      else if (this.#listening.has(child)) tell()
      else child.once('listening-to-parent', tell)
    })
  }

  #endIfEmpty(): void {
    if (this.#children.size === 0) this.#onGone({ code: this.#code })
  }
}
