/**
 * How often an address may guess a token. Its memory has a bound: when it is full of addresses that failed lately, a
 * new one is told to wait as well.
 *
 * @module
 */

import type { Problem } from './problem.ts'

const FAILURES_MAX = 10
const WINDOW_MS = 60_000
const ADDRESSES_MAX = 1_000

interface Failures {
  count: number
  /** When they are forgotten. */
  readonly endsAt: number
}

export class AttemptLimit {
  readonly #byAddress = new Map<string, Failures>()
  readonly #now: () => number
  readonly #onExceeded: (address: string) => void

  /** @param onExceeded - told once for each time that an address has to wait */
  constructor(now: () => number, onExceeded: (address: string) => void) {
    this.#now = now
    this.#onExceeded = onExceeded
  }

  /** How many seconds to wait before the next attempt; 0 where it may be made. */
  waitSeconds(address: string): number {
    const now = this.#now()
    this.#forgetOld(now)
    const known = this.#byAddress.get(address)
    if (known !== undefined && known.count < FAILURES_MAX) return 0
    if (known === undefined && this.#byAddress.size < ADDRESSES_MAX) return 0
    const [oldest] = this.#byAddress.values()
    const endsAt = (known ?? oldest)?.endsAt ?? now
    return Math.max(1, Math.ceil((endsAt - now) / 1_000))
  }

  /** An attempt failed. */
  failed(address: string): void {
    const known = this.#byAddress.get(address)
    if (known !== undefined) {
      known.count += 1
      if (known.count === FAILURES_MAX) this.#onExceeded(address)
    } else this.#byAddress.set(address, { count: 1, endsAt: this.#now() + WINDOW_MS })
  }

  /** What an address is told that has to wait. */
  problem(address: string): Problem | undefined {
    const waitSeconds = this.waitSeconds(address)
    if (waitSeconds === 0) return undefined
    return {
      status: 429,
      code: 'ATTEMPTS_EXCEEDED',
      detail: `Too many attempts with a wrong token have failed. Try again in ${waitSeconds} seconds.`,
      headers: { 'retry-after': String(waitSeconds) },
    }
  }

  /** They stand in the order in which their time ends. */
  #forgetOld(now: number): void {
    for (const [address, { endsAt }] of this.#byAddress) {
      if (endsAt > now) return
      this.#byAddress.delete(address)
    }
  }
}
