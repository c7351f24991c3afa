/**
 * Who has the writer next.
 *
 * A handler that has written holds the writer until it ends. So one that is known to be slow goes after all that are
 * quick: deliveries that are recorded, claims, quick handlers. And since an event needs the writer three times, to be
 * recorded, to be claimed and to be run, a slow one also waits a moment for what follows from a turn that has just
 * ended. So an event of a quiet source waits for the slow turn that is under way, and for no other.
 *
 * The slow do not starve: they let others go first for as long as they are likely to take themselves. Among the
 * quick, and among the slow, it goes by arrival.
 *
 * Only SQLite: PostgreSQL lets many write at once.
 *
 * @module
 */

export interface Waiter {
  /** How long its turn is likely to last; 0 if it is not known to be slow. It may change while it waits. */
  readonly slowMs: () => number
  readonly grant: () => void
  readonly refuse: (error: Error) => void
}

/** Of a slow turn, how much of it at most passes before it in case that more is to come from the last quick one. */
const GRACE_SHARE = 20
const GRACE_MS_MAX = 20

export class WaitingLine {
  /** With the time of their arrival. */
  readonly #waiters = new Map<Waiter, number>()
  #slowEndedAt = -Infinity
  #quickEndedAt = -Infinity

  add(waiter: Waiter): void {
    this.#waiters.set(waiter, performance.now())
  }

  remove(waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  refuseAll(createError: () => Error): void {
    for (const waiter of this.#waiters.keys()) waiter.refuse(createError())
  }

  /** A turn has ended whose caller was as slow as this. */
  ended(slowMs: number): void {
    if (slowMs > 0) this.#slowEndedAt = performance.now()
    else this.#quickEndedAt = performance.now()
  }

  /** Whether one that comes now may have the turn, if it is free. */
  mayPass(slowMs: number): boolean {
    if (slowMs === 0) return true
    return this.#waiters.size === 0 && this.#graceMs(slowMs, performance.now()) === 0
  }

  /** Who is next, and after how long if no other comes. */
  next(): { readonly waiter: Waiter; readonly inMs: number } | undefined {
    if (this.#waiters.size === 0) return undefined
    const waiters = [...this.#waiters.keys()]
    const quick = waiters.find((waiter) => waiter.slowMs() === 0)
    const slow = waiters.find((waiter) => waiter.slowMs() > 0)
    if (slow === undefined) return quick && { waiter: quick, inMs: 0 }
    const arrivedAt = this.#waiters.get(slow) ?? 0
    if (quick !== undefined && this.#leadMs(slow.slowMs(), arrivedAt) > 0)
      return { waiter: quick, inMs: 0 }
    return { waiter: slow, inMs: this.#graceMs(slow.slowMs(), arrivedAt) }
  }

  /** For how much longer others go before a slow one. */
  #leadMs(slowMs: number, arrivedAt: number): number {
    return Math.max(0, Math.max(arrivedAt, this.#slowEndedAt) + slowMs - performance.now())
  }

  /** For how much longer a slow one leaves the writer alone although no other is waiting. */
  #graceMs(slowMs: number, arrivedAt: number): number {
    const graceMs = Math.min(slowMs / GRACE_SHARE, GRACE_MS_MAX)
    const leftMs = this.#quickEndedAt + graceMs - performance.now()
    return Math.max(0, Math.min(leftMs, this.#leadMs(slowMs, arrivedAt)))
  }
}
