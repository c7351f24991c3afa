import type { HandlerClock } from '../store/contract/transaction.ts'

/**
 * A handler's own time, and its limit.
 *
 * It stands still while the store makes the handler wait for its transaction: with one writer in the whole
 * machine, a handler would otherwise run out of time because another one is slow.
 */
export class RunClock implements HandlerClock {
  readonly timeoutMs: number
  #ranMs = 0
  #runsSince: number | undefined = performance.now()
  #onOver: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
  }

  get elapsedMs(): number {
    return this.#ranMs + (this.#runsSince === undefined ? 0 : performance.now() - this.#runsSince)
  }

  /** Calls `onOver` when the time is up, unless it is stopped before. */
  start(onOver: () => void): void {
    this.#onOver = onOver
    this.#wind()
  }

  /** For good: what was elapsed by now stays. */
  stop(): void {
    this.pause()
    this.#isStopped = true
  }

  pause(): void {
    this.#ranMs = this.elapsedMs
    this.#runsSince = undefined
    clearTimeout(this.#timer)
  }

  resume(): void {
    if (this.#isStopped) return
    this.#runsSince ??= performance.now()
    this.#wind()
  }

  #wind(): void {
    clearTimeout(this.#timer)
    if (this.#onOver === undefined || this.#runsSince === undefined) return
    this.#timer = setTimeout(this.#onOver, Math.max(0, this.timeoutMs - this.elapsedMs))
  }
}
