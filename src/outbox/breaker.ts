/**
 * Leaves a destination alone for a while when it does not answer, or when it asks to be left alone.
 *
 * Closed: everything goes. Open: nothing does, until a time. After that it is ajar: one message goes,
 * and its end decides. Times are those of `performance.now()`.
 *
 * @module
 */

export class Breaker {
  readonly #failuresMax: number
  readonly #openMs: number
  #failures = 0
  #openUntil = 0
  #isAjar = false

  constructor({ failuresMax, openMs }: { failuresMax: number; openMs: number }) {
    this.#failuresMax = failuresMax
    this.#openMs = openMs
  }

  /** How many more may be on their way at once, besides `inFlight`. */
  room(now: number, inFlight: number): number {
    if (now < this.#openUntil) return 0
    return this.#isAjar ? Math.max(0, 1 - inFlight) : Infinity
  }

  /** When to look again; `undefined` when it is not open. */
  waitMs(now: number): number | undefined {
    return now < this.#openUntil ? this.#openUntil - now : undefined
  }

  /** The destination answered. Says whether that closed the breaker. */
  answered(): boolean {
    const wasAjar = this.#isAjar
    this.#failures = 0
    this.#isAjar = false
    return wasAjar
  }

  /** The destination did not answer. Says whether that opened the breaker. */
  failed(now: number): boolean {
    this.#failures += 1
    if (!this.#isAjar && this.#failures < this.#failuresMax) return false
    if (now < this.#openUntil) return false
    this.#open(now, this.#openMs)
    return true
  }

  /** The destination asked for a pause. */
  hold(now: number, forMs: number): void {
    if (now + forMs > this.#openUntil) this.#openUntil = now + forMs
  }

  #open(now: number, forMs: number): void {
    this.#openUntil = now + forMs
    this.#isAjar = true
  }
}
