/**
 * `inbox.runDue()`: for processes that live only while they are called, in a function of a cloud or from a cron job.
 *
 * A worker and a relay are started, run until nothing is due or the time is over, and are stopped again. They are those
 * of `start()`, with all their guards: a call that is killed is a worker that has died.
 *
 * @module
 */

import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { HappeningName } from '../telemetry/happenings.ts'

/** How long a call of `runDue` may take. */
export interface RunDueOptions {
  /** After so many milliseconds it has returned, or is about to: what still runs by then is let go. */
  readonly budgetMs: number
  /**
   * For so long before the end nothing more is begun: the time that what runs has to end. What has not ended by then is
   * rolled back and runs again in another call, without a lost attempt; so a handler should take less. A quarter of
   * `budgetMs` unless it is said.
   *
   * @defaultValue budgetMs / 4
   */
  readonly graceMs?: number
}

/** What a call of `runDue` did. Each attempt counts. */
export interface DueRun {
  readonly done: number
  readonly skipped: number
  /** Attempts that failed and are to be made again. */
  readonly failed: number
  readonly dead: number
  readonly messagesSent: number
  /** Messages whose attempt failed and is to be made again. */
  readonly messagesFailed: number
  /** Messages that wait for a person: dead, or of unknown outcome. */
  readonly messagesLeft: number
  /** Whether the time was over first: there is more to do now. */
  readonly hasMore: boolean
  /**
   * When to call again, if nothing is stored before: the next attempt of an event or message is due no earlier, as far as
   * is known, and no event has waited for long enough in its lane. `undefined` where none waits.
   */
  readonly nextDueInMs: number | undefined
}

/** The two that work, as an inbox makes them for one call. */
export interface DueWork {
  /** Resolves when nothing is due, with the time until something is. */
  untilIdle(): Promise<number | undefined>
  stop(): Promise<void>
}

export interface DueRunsContext {
  readonly happenings: HappeningEmitter
  readonly startWork: (terms: { readonly stopGraceMs: number }) => Promise<DueWork>
}

/** How far ahead messages are looked for. */
export const DUE_WITHIN_MS = HOUR_MS

/** The calls of one inbox, one at a time. */
export class DueRuns {
  readonly #context: DueRunsContext
  #current: CurrentRun | undefined

  constructor(context: DueRunsContext) {
    this.#context = context
  }

  /** A call while another one is at work gets that one's result: what is due for the one is done by the other. */
  async run(options: RunDueOptions): Promise<DueRun> {
    const terms = resolveRunDueOptions(options)
    while (this.#current !== undefined) {
      if (!this.#current.isEnding) return this.#current.result
      await this.#current.result.catch(() => undefined)
    }
    const current = new CurrentRun(this.#context, terms)
    this.#current = current
    try {
      return await current.result
    } finally {
      this.#current = undefined
    }
  }

  /** Ends the call that is at work, if there is one, as at the end of its time. */
  async end(): Promise<void> {
    this.#current?.end()
    await this.#current?.result.catch(() => undefined)
  }
}

type RunDueTerms = Readonly<Required<RunDueOptions>>

class CurrentRun {
  readonly result: Promise<DueRun>
  /** Nothing more is begun. */
  isEnding = false
  readonly #context: DueRunsContext
  #end = (): void => undefined

  constructor(context: DueRunsContext, terms: RunDueTerms) {
    this.#context = context
    this.result = this.#run(terms)
  }

  end(): void {
    this.#end()
  }

  async #run({ budgetMs, graceMs }: RunDueTerms): Promise<DueRun> {
    const over = this.#startClock(budgetMs - graceMs)
    const { counts, stopCounting } = countEnds(this.#context.happenings)
    try {
      const work = await this.#context.startWork({ stopGraceMs: graceMs })
      try {
        const idle = work.untilIdle().then((nextDueInMs) => ({ hasMore: false, nextDueInMs }))
        const end = await Promise.race([idle, over])
        // What fails from now on is told by those who work.
        idle.catch(() => undefined)
        this.isEnding = true
        await work.stop()
        return { ...counts, ...end }
      } catch (error) {
        this.isEnding = true
        await work.stop()
        throw error
      }
    } finally {
      this.#end()
      stopCounting()
    }
  }

  #startClock(ms: number): Promise<{ hasMore: true; nextDueInMs: undefined }> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(), ms)
      this.#end = () => {
        clearTimeout(timer)
        resolve({ hasMore: true, nextDueInMs: undefined })
      }
    })
  }
}

type Counts = {
  -readonly [Name in keyof DueRun as DueRun[Name] extends number ? Name : never]: number
}

const COUNTED = {
  'event.done': 'done',
  'event.skipped': 'skipped',
  'event.failed': 'failed',
  'event.dead': 'dead',
  'message.sent': 'messagesSent',
  'message.failed': 'messagesFailed',
  'message.dead': 'messagesLeft',
  'message.unknown': 'messagesLeft',
} as const satisfies Partial<Record<HappeningName, keyof Counts>>

function countEnds(happenings: HappeningEmitter): { counts: Counts; stopCounting: () => void } {
  const counts: Counts = {
    done: 0,
    skipped: 0,
    failed: 0,
    dead: 0,
    messagesSent: 0,
    messagesFailed: 0,
    messagesLeft: 0,
  }
  const stops = (Object.keys(COUNTED) as (keyof typeof COUNTED)[]).map((name) =>
    happenings.on(name, () => (counts[COUNTED[name]] += 1)),
  )
  return { counts, stopCounting: () => stops.forEach((stop) => stop()) }
}

function resolveRunDueOptions(options: RunDueOptions): RunDueTerms {
  rejectUnknownKeys('runDue', options, ['budgetMs', 'graceMs'])
  const { budgetMs } = options
  requireInteger('runDue.budgetMs', budgetMs, { min: 1, max: HOUR_MS })
  const { graceMs = Math.floor(budgetMs / 4) } = options
  requireInteger('runDue.graceMs', graceMs, { min: 0, max: budgetMs })
  return { budgetMs, graceMs }
}
