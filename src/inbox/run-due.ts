/**
 * `inbox.runDue()`: for processes that live only while they are called, in a function of a cloud or from a cron job.
 *
 * A worker and a relay are started, run until nothing is due or the time is over, and are stopped again. They are those
 * of `start()`, with all their guards: a call that is killed is a worker that has died.
 *
 * @module
 */

import { StoreUnavailableError } from '../errors.ts'
import { atMost } from '../flow/at-most.ts'
import type { Settlement } from '../model/outcome.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'
import type { MessageSettlement } from '../store/contract/messages.ts'

/** How long a call of `runDue` may take. */
export interface RunDueOptions {
  /** After so many milliseconds it has returned, or is about to: what still runs by then is given back. */
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
  /** Events that are not run again by themselves, also those that died with the processes that ran them. */
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

/** What those two are told, and whom they tell of what they have settled. */
export interface DueWorkTerms {
  readonly stopGraceMs: number
  readonly onEventSettled: (state: Settlement['state']) => void
  readonly onMessageSettled: (state: MessageSettlement['state']) => void
}

type StartWork = (terms: DueWorkTerms) => Promise<DueWork>

/** How far ahead messages are looked for. */
export const DUE_WITHIN_MS = HOUR_MS

/** The calls of one inbox, one at a time. */
export class DueRuns {
  readonly #startWork: StartWork
  #current: CurrentRun | undefined
  /** The start of a call whose time was over before it had ended. */
  #left: Promise<void> | undefined

  constructor(startWork: StartWork) {
    this.#startWork = startWork
  }

  /** A call while another one is at work gets that one's result: what is due for the one is done by the other. */
  async run(options: RunDueOptions): Promise<DueRun> {
    const terms = resolveRunDueOptions(options)
    while (this.#current !== undefined) {
      if (!this.#current.isEnding) return this.#current.result
      await this.#current.result.catch(() => undefined)
    }
    const current = new CurrentRun((t) => this.#start(t), terms)
    this.#current = current
    try {
      return await current.result
    } finally {
      this.#left = current.left
      this.#current = undefined
    }
  }

  /** Ends the call that is at work, if there is one, as at the end of its time. */
  async end(): Promise<void> {
    this.#current?.end()
    await this.#current?.result.catch(() => undefined)
    await this.#left
  }

  /** Not beside what a call before has begun to start. */
  async #start(terms: DueWorkTerms): Promise<DueWork> {
    await this.#left
    return this.#startWork(terms)
  }
}

type RunDueTerms = Readonly<Required<RunDueOptions>>

class CurrentRun {
  readonly result: Promise<DueRun>
  /** Nothing more is begun. */
  isEnding = false
  /** What goes on after the result is there: a start that has not ended, and its end. */
  left: Promise<void> | undefined
  readonly #start: StartWork
  readonly #counts = noCounts()
  #end = (): void => undefined

  constructor(start: StartWork, terms: RunDueTerms) {
    this.#start = start
    this.result = this.#run(terms)
  }

  end(): void {
    this.#end()
  }

  async #run({ budgetMs, graceMs }: RunDueTerms): Promise<DueRun> {
    const over = this.#startClock(budgetMs - graceMs)
    try {
      const work = await this.#startWork(over, { budgetMs, graceMs })
      try {
        const idle = work.untilIdle().then((nextDueInMs) => ({ hasMore: false, nextDueInMs }))
        const end = await Promise.race([idle, over])
        // What fails from now on is told by the workers.
        idle.catch(() => undefined)
        this.isEnding = true
        await work.stop()
        return { ...this.#counts, ...end }
      } catch (error) {
        this.isEnding = true
        await work.stop()
        throw error
      }
    } finally {
      this.#end()
    }
  }

  /** A store that has gone silent keeps its start waiting, which must not outlast the call. */
  async #startWork(over: Promise<unknown>, { budgetMs, graceMs }: RunDueTerms): Promise<DueWork> {
    const counts = this.#counts
    const starting = this.#start({
      stopGraceMs: graceMs,
      onEventSettled: (state) => countEnd(counts, COUNTED_EVENTS, state),
      onMessageSettled: (state) => countEnd(counts, COUNTED_MESSAGES, state),
    })
    const work = await Promise.race([starting, over.then(() => undefined)])
    if (work !== undefined) return work
    this.isEnding = true
    let late: DueWork | undefined
    await atMost(
      graceMs,
      starting.then((started) => (late = started)),
    )
    if (late !== undefined) return late
    this.left = starting.then(
      (started) => started.stop().catch(() => undefined),
      () => undefined,
    )
    throw new StoreUnavailableError(`The store did not answer within ${budgetMs} ms`)
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

const COUNTED_EVENTS: Counted<Settlement['state']> = {
  done: 'done',
  skipped: 'skipped',
  ready: 'failed',
  dead: 'dead',
}

const COUNTED_MESSAGES: Counted<MessageSettlement['state']> = {
  sent: 'messagesSent',
  ready: 'messagesFailed',
  dead: 'messagesLeft',
  unknown: 'messagesLeft',
}

type Counted<State extends string> = Readonly<Partial<Record<State, keyof Counts>>>

function countEnd<State extends string>(
  counts: Counts,
  counted: Counted<State>,
  state: State,
): void {
  const name = counted[state]
  if (name !== undefined) counts[name] += 1
}

function noCounts(): Counts {
  return {
    done: 0,
    skipped: 0,
    failed: 0,
    dead: 0,
    messagesSent: 0,
    messagesFailed: 0,
    messagesLeft: 0,
  }
}

function resolveRunDueOptions(options: RunDueOptions): RunDueTerms {
  rejectUnknownKeys('runDue', options, ['budgetMs', 'graceMs'])
  const { budgetMs } = options
  requireInteger('runDue.budgetMs', budgetMs, { min: 1, max: HOUR_MS })
  const { graceMs = Math.floor(budgetMs / 4) } = options
  requireInteger('runDue.graceMs', graceMs, { min: 0, max: budgetMs })
  return { budgetMs, graceMs }
}
