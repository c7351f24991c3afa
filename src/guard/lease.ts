import { HookonceError } from '../errors.ts'
import type { Entries } from './entries.ts'

export interface LeaseOptions {
  readonly leaseMs: number
  readonly runMsMax: number
}

/**
 * Keeps a lease alive while the work runs, and says when it is lost.
 *
 * It is renewed every third of its time, so that two renewals may fail. It is lost when Redis says so,
 * when it could not be renewed in time, and when the work has run for `runMsMax`: a run that never
 * ends would otherwise keep every other delivery out for ever. Losing it aborts the signal; whether
 * the work may still be marked is for Redis to decide, by the token.
 */
export class Lease {
  readonly #entries: Entries
  readonly #key: string
  readonly #token: string
  readonly #options: LeaseOptions
  readonly #abortion = new AbortController()
  readonly #startedAt: number
  #heldUntil: number
  #timer: NodeJS.Timeout | undefined

  /** @param claimedAt - `performance.now()` before the claim was sent: Redis counts from later than that */
  constructor(
    entries: Entries,
    { key, token, claimedAt }: { key: string; token: string; claimedAt: number },
    options: LeaseOptions,
  ) {
    this.#entries = entries
    this.#key = key
    this.#token = token
    this.#options = options
    this.#startedAt = claimedAt
    this.#heldUntil = claimedAt + options.leaseMs
    this.#renewLater()
  }

  get signal(): AbortSignal {
    return this.#abortion.signal
  }

  /** Until when, by `performance.now()`, no other delivery can have taken it. */
  get heldUntil(): number {
    return this.#heldUntil
  }

  /** Renews no more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #renewLater(): void {
    const left = this.#heldUntil - performance.now()
    const everyMs = this.#options.leaseMs / 3
    this.#timer = setTimeout(() => void this.#renew(), Math.max(0, Math.min(everyMs, left)))
  }

  async #renew(): Promise<void> {
    const timer = this.#timer
    const sentAt = performance.now()
    if (sentAt >= this.#heldUntil) return this.#lose('was not renewed in time')
    if (sentAt - this.#startedAt >= this.#options.runMsMax) {
      return this.#lose(`is not renewed for longer than ${this.#options.runMsMax} ms (runMsMax)`)
    }
    // Redis away: there is another try, as long as the lease holds.
    const answer = await this.#entries
      .renew(this.#key, this.#token)
      .catch(() => 'unavailable' as const)
    if (this.#timer !== timer) return
    if (answer === 'lost') return this.#lose('was taken by another or removed')
    if (answer === 'renewed') this.#heldUntil = sentAt + this.#options.leaseMs
    this.#renewLater()
  }

  #lose(why: string): void {
    this.end()
    const error = new HookonceError('LEASE_LOST', `The lease ${why}; another delivery may run now`)
    this.#abortion.abort(error)
  }
}
