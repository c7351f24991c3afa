/**
 * What of an inbox is started in which order, and stopped in which. It is said here and nowhere else.
 *
 * @module
 */

import { HookonceError } from '../errors.ts'
import { atMost, GOODBYE_MS, INTERRUPTED_MS } from '../flow/at-most.ts'
import type { SendMap } from '../model/sends.ts'
import type { InboxParts } from './inbox-parts.ts'
import { reportNotStarted, reportWarnings } from './options.ts'
import { reportUnfinished } from './report-unfinished.ts'
import { DUE_WITHIN_MS, DueRuns } from './run-due.ts'
import { tellHearing } from './tell-hearing.ts'
import type { DueRun, DueWork, DueWorkTerms, RunDueOptions } from './run-due.ts'
import { slotCount } from '../work/options.ts'

export class InboxLife<Tx, Sql, Sends extends SendMap> {
  readonly #parts: InboxParts<Tx, Sql, Sends>
  readonly #dueRuns: DueRuns
  #state: 'made' | 'started' | 'stopping' | 'stopped' = 'made'
  #runsDue = false
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #stopListening = async (): Promise<void> => {}
  /** How many deliveries are on their way. */
  #receiving = 0
  #onAllReceived: (() => void) | undefined

  constructor(parts: InboxParts<Tx, Sql, Sends>) {
    this.#parts = parts
    const { happenings, handlers, workerOptions } = parts
    this.#dueRuns = new DueRuns((terms) => this.#startDueWork(terms))
    const runsNothing = () => this.#state === 'made' && !this.#runsDue && !handlers.isEmpty
    if (workerOptions !== undefined) reportNotStarted(happenings, runsNothing)
  }

  get isStarted(): boolean {
    return this.#state === 'started'
  }

  /** Whether it takes no more deliveries. */
  get isEnding(): boolean {
    return this.#state === 'stopping' || this.#state === 'stopped'
  }

  /** Takes a delivery, whose end `stop()` waits for. */
  async receiving<Result>(take: () => Promise<Result>): Promise<Result> {
    this.#receiving += 1
    try {
      return await take()
    } finally {
      this.#receiving -= 1
      if (this.#receiving === 0) this.#onAllReceived?.()
    }
  }

  async start(): Promise<void> {
    if (this.#state !== 'made') {
      throw new HookonceError('INBOX_STOPPED', `An inbox starts once; this one is ${this.#state}`)
    }
    this.#state = 'started'
    reportWarnings(this.#parts.sources, this.#parts.happenings)
    this.#starting = this.#startParts()
    await this.#starting
  }

  /** Every call waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopParts()
    return this.#stopping
  }

  async runDue(options: RunDueOptions): Promise<DueRun> {
    if (this.#state === 'started')
      throw new HookonceError(
        'INBOX_STARTED',
        'This inbox was started and runs events by itself: runDue() is for one that is not',
      )
    if (this.#state !== 'made')
      throw new HookonceError('INBOX_STOPPED', `This inbox is ${this.#state}: make a new one`)
    this.#runsDue = true
    return this.#dueRuns.run(options)
  }

  async #startParts(): Promise<void> {
    const parts = this.#parts
    const { store, happenings, watch, outbox, workerOptions } = parts
    const works = workerOptions !== undefined || outbox.hasRelay
    try {
      await this.#dueRuns.end()
      this.#requireCapacity()
      await parts.open()
      for (const warning of store.warnings ?? []) happenings.emit('store.warning', { warning })
      await watch.start()
      parts.context.secrets.announce()
      if (works) this.#stopListening = await this.#listen()
      // Before this process has anything in hand itself.
      if (works) await reportUnfinished(store, happenings)
      if (workerOptions !== undefined) await parts.startWorker(workerOptions, { isBrief: false })
      outbox.start()
      parts.dailyPrune.start()
    } catch (error) {
      await watch.stop()
      await this.#stopListening()
      if (this.#state === 'started') this.#state = 'made'
      throw error
    }
  }

  #listen(): Promise<() => Promise<void>> {
    const { store, happenings } = this.#parts
    return store.queue.listen(() => this.#parts.wakeOwn(), tellHearing(happenings))
  }

  async #stopParts(): Promise<void> {
    this.#state = 'stopping'
    const parts = this.#parts
    const { context, outbox } = parts
    const graceMs = (parts.workerOptions?.stopGraceMs ?? 0) + outbox.stopGraceMs
    const endAt = performance.now() + graceMs + INTERRUPTED_MS
    const inTime = (part: Promise<unknown>) => atMost(Math.max(0, endAt - performance.now()), part)
    // What is only half started could not be stopped.
    if (this.#starting !== undefined) await inTime(this.#starting.catch(() => undefined))
    if (this.#receiving > 0) await inTime(new Promise<void>((end) => (this.#onAllReceived = end)))
    await inTime(context.batcher.drain())
    await inTime(parts.bulkRunner.stop())
    await inTime(this.#dueRuns.end())
    // In this order: until its last handler has returned, a worker may give the relay something to send.
    if (parts.worker !== undefined) await inTime(parts.worker.stop())
    await inTime(outbox.stop())
    const goodbyes = [
      parts.dailyPrune.stop(),
      parts.watch.stop(),
      parts.notifier.stop(),
      this.#stopListening(),
      context.counter.flush(),
      context.secrets.stop(),
    ]
    await atMost(GOODBYE_MS, Promise.allSettled(goodbyes))
    await atMost(GOODBYE_MS, parts.store.close())
    this.#state = 'stopped'
    parts.stopLogging()
  }

  /** The worker and the relay of one call of `runDue`. */
  async #startDueWork(terms: DueWorkTerms): Promise<DueWork> {
    const { stopGraceMs, onEventSettled, onMessageSettled } = terms
    const parts = this.#parts
    const { watch, outbox, context, workerOptions } = parts
    this.#requireCapacity()
    await parts.open()
    await watch.start()
    try {
      if (workerOptions !== undefined)
        await parts.startWorker(
          { ...workerOptions, stopGraceMs },
          { isBrief: true, onSettled: onEventSettled },
        )
      outbox.start({ stopGraceMs, onSettled: onMessageSettled })
    } catch (error) {
      await watch.stop()
      throw error
    }
    const announced = parts.dailyPrune.announce()
    return {
      untilIdle: async () => {
        const eventInMs = await parts.worker?.untilIdle()
        const messageInMs = await outbox.untilIdle(DUE_WITHIN_MS)
        const nextInMs = Math.min(eventInMs ?? Infinity, messageInMs ?? Infinity)
        return nextInMs === Infinity ? undefined : nextInMs
      },
      stop: async () => {
        const ends = Promise.all([parts.worker?.stop(), outbox.stop()])
        const goodbyes = [announced, watch.stop(), context.counter.flush(), context.secrets.flush()]
        await Promise.all([
          atMost(stopGraceMs + INTERRUPTED_MS, ends),
          atMost(GOODBYE_MS, Promise.allSettled(goodbyes)),
        ])
        parts.worker = undefined
      },
    }
  }

  /** @throws OptionInvalidError when the pool is too small for what this process is to do */
  #requireCapacity(): void {
    const { store, outbox, workerOptions } = this.#parts
    const slots = workerOptions && slotCount(workerOptions)
    const groups = slots ?? (outbox.hasRelay ? 0 : undefined)
    if (groups !== undefined) store.queue.requireCapacity(groups)
  }
}
