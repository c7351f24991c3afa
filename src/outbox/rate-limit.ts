/**
 * So many a second, spread over it: a bucket that holds a tenth of a second's worth, and at least one.
 * Times are those of `performance.now()`.
 */
export class RateLimit {
  readonly #perMs: number
  readonly #most: number
  #tokens: number
  #at: number | undefined

  /** 0: no limit. */
  constructor(perSecond: number) {
    this.#perMs = perSecond / 1_000
    this.#most = Math.max(1, perSecond / 10)
    this.#tokens = this.#most
  }

  /** Takes one if there is one. */
  tryTake(now: number): boolean {
    if (this.#perMs === 0) return true
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** How long until there is one. */
  waitMs(now: number): number {
    if (this.#perMs === 0) return 0
    this.#refill(now)
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perMs
  }

  #refill(now: number): void {
    this.#tokens = Math.min(this.#most, this.#tokens + (now - (this.#at ?? now)) * this.#perMs)
    this.#at = now
  }
}
