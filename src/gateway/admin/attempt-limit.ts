/**
 * How often an address may fail to log in. Its memory has a bound: when it is full of addresses that failed lately, a
 * new one is told to wait as well.
 *
 * @module
 */

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

  constructor(now: () => number) {
    this.#now = now
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
    if (known !== undefined) known.count += 1
    else this.#byAddress.set(address, { count: 1, endsAt: this.#now() + WINDOW_MS })
  }

  /** One that was counted as failed before it was tried. */
  succeeded(address: string): void {
    this.#byAddress.delete(address)
  }

  /** They stand in the order in which their time ends. */
  #forgetOld(now: number): void {
    for (const [address, { endsAt }] of this.#byAddress) {
      if (endsAt > now) return
      this.#byAddress.delete(address)
    }
  }
}
