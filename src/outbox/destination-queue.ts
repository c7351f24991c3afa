/**
 * The messages of one destination that this relay holds: those that wait to be sent, those on their
 * way, and those whose end is being written. Each destination has a queue of its own, so that one that
 * hangs does not hold up the others.
 *
 * @module
 */

import type { ClaimedMessage, MessageSettlement } from '../store/contract/messages.ts'
import { attemptMessage } from './attempt.ts'
import type { AttemptEnd } from './attempt.ts'
import { Breaker } from './breaker.ts'
import type { Destination } from './destination.ts'
import { attemptMsMax } from './options.ts'
import { RateLimit } from './rate-limit.ts'

export interface LaneContext {
  readonly destination: Destination
  readonly signal: AbortSignal
  /** Writes an end; calls back when it is written. */
  readonly settle: (ending: QueueEnding) => void
  readonly onResend: (message: ClaimedMessage) => void
  /** The destination is left alone for a while. */
  readonly onHeld: (forMs: number, cause: string) => void
  /** The destination is gone, and is to be paused before the message is given back. */
  readonly onGone: (reason: string) => Promise<void>
  /** There is room for more. */
  readonly onRoom: () => void
}

export interface QueueEnding {
  readonly message: ClaimedMessage
  readonly settlement: MessageSettlement
  readonly end: AttemptEnd | undefined
  readonly leaseEndsAt: number
  readonly onWritten: () => void
}

interface Held {
  readonly message: ClaimedMessage
  readonly claimedAt: number
  readonly leaseEndsAt: number
}

/** How many times its concurrency waits in a queue, so that it need not wait for the next claim. */
const AHEAD = 2
/** How many times its concurrency a queue holds at most, with those whose end is being written. */
const HELD = 8

export class DestinationQueue {
  readonly #context: LaneContext
  readonly #breaker: Breaker
  readonly #rate: RateLimit
  readonly #waiting: Held[] = []
  #inFlight = 0
  #held = 0
  #timer: NodeJS.Timeout | undefined
  #isStopping = false
  #onIdle: (() => void) | undefined

  constructor(context: LaneContext) {
    const { policy } = context.destination
    this.#context = context
    this.#rate = new RateLimit(policy.ratePerSecond)
    this.#breaker = new Breaker({
      failuresMax: policy.breakerFailures,
      openMs: policy.breakerMs,
    })
  }

  get name(): string {
    return this.#context.destination.name
  }

  /** Whether it holds nothing: nothing waits, is on its way, or is being settled. */
  get isEmpty(): boolean {
    return this.#held === 0
  }

  /**
   * How many messages to claim now.
   *
   * What is claimed counts as sent if this process dies, so that where keys are ignored no more is
   * claimed than is sent at once. Under a rate no more waits than a tenth of a second's worth, so that no
   * lease ends while its message waits its turn; what is on its way does not count against that. Elsewhere
   * a claim is worth its while when the queue is half empty.
   */
  room(now: number): number {
    const { keys, concurrency, ratePerSecond } = this.#context.destination.policy
    if (this.#isStopping) return 0
    const most = this.#breaker.room(now, this.#held)
    if (keys === 'ignored' || ratePerSecond > 0) {
      const waitingMax = ratePerSecond > 0 ? Math.ceil(ratePerSecond / 10) : concurrency
      const free = Math.min(concurrency - this.#held, waitingMax - this.#waiting.length)
      return Math.max(0, Math.min(most, free))
    }
    const free = concurrency * AHEAD - this.#waiting.length
    return free < concurrency || this.#held >= concurrency * HELD ? 0 : Math.min(most, free)
  }

  /** How long until there may be room without anything ending; `undefined` when only that can help. */
  waitMs(now: number): number | undefined {
    return this.#breaker.waitMs(now)
  }

  take(message: ClaimedMessage, claimedAt: number, leaseEndsAt: number): void {
    const held = { message, claimedAt, leaseEndsAt }
    this.#held += 1
    // The relay did not wait for a claim that was answered late: left here, it would be in doubt for nothing.
    if (this.#isStopping) return this.#giveBack(held, 0)
    this.#waiting.push(held)
    this.#pump()
  }

  /** Gives back what has not begun, and resolves when the rest has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    for (const held of this.#waiting.splice(0)) this.#giveBack(held, 0)
    if (this.#held > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  #pump(): void {
    const { policy } = this.#context.destination
    const { concurrency } = policy
    while (this.#waiting.length > 0 && this.#inFlight < concurrency && !this.#isStopping) {
      const now = performance.now()
      const heldForMs = this.#breaker.waitMs(now)
      if (heldForMs !== undefined) return this.#giveBackAll(heldForMs)
      if (!this.#rate.tryTake(now)) return this.#pumpIn(this.#rate.waitMs(now))
      const held = this.#waiting.shift() as Held
      if (this.#waiting.length === concurrency) this.#context.onRoom()
      // Another relay may have it before this attempt has ended, or has it already.
      if (now + attemptMsMax(policy) >= held.leaseEndsAt) this.#giveBack(held, 0)
      else void this.#run(held)
    }
  }

  #pumpIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#pump()
      // What has begun no longer waits, and may take long to end.
      this.#context.onRoom()
    }, Math.ceil(ms))
  }

  async #run(held: Held): Promise<void> {
    const { destination, signal, onResend, onGone } = this.#context
    this.#inFlight += 1
    const sinceClaimMs = (): number => performance.now() - held.claimedAt
    const end = await attemptMessage({ sinceClaimMs, signal, onResend }, destination, held.message)
    if (end.result?.status === 'failed' && end.result.gone !== undefined)
      await onGone(end.result.gone)
    this.#inFlight -= 1
    this.#learn(end)
    this.#settle(held, end.settlement, end)
    this.#pump()
  }

  #learn({ result }: AttemptEnd): void {
    if (result === undefined || this.#isStopping) return
    const now = performance.now()
    const { breakerMs } = this.#context.destination.policy
    if (result.status === 'sent' || result.answered) {
      this.#breaker.answered()
    } else if (this.#breaker.failed(now)) {
      this.#context.onHeld(breakerMs, result.message)
    }
    // One that says when to come back means all of its messages.
    const status = result.status === 'failed' ? result.response?.status : undefined
    if (result.status !== 'failed' || (status !== 429 && status !== 503)) return
    const forMs = Math.min(result.retryAfterMs ?? 0, breakerMs)
    if (forMs === 0) return
    this.#breaker.hold(now, forMs)
    this.#context.onHeld(forMs, result.message)
  }

  #giveBackAll(retryInMs: number): void {
    for (const held of this.#waiting.splice(0)) this.#giveBack(held, retryInMs)
  }

  #giveBack(held: Held, retryInMs: number): void {
    const { id, token } = held.message
    this.#settle(held, { id, token, state: 'given-back', retryInMs }, undefined)
  }

  #settle(held: Held, settlement: MessageSettlement, end: AttemptEnd | undefined): void {
    const { message, leaseEndsAt } = held
    const onWritten = (): void => {
      this.#held -= 1
      if (this.#held === 0) this.#onIdle?.()
      this.#context.onRoom()
    }
    this.#context.settle({ message, settlement, end, leaseEndsAt, onWritten })
  }
}
