/**
 * Has groups that get in each other's way run one after the other.
 *
 * Groups whose handlers write the same rows wait for each other's locks until one gives up, and then run
 * again: with four of them at once most of the work is done twice. Where that was seen, the groups of
 * this process run one after the other, each as large as it may be.
 * Measured on 1,000 balances, 4 at once: see W2b in `bench/results/`.
 *
 * A group claims before it waits for the others, so that the database is not idle in between. A
 * group that waits holds no lock but its own claim.
 *
 * @module
 */

import type { HandlerUnit } from '../handler-unit.ts'

/** How long the groups of a unit run one after the other after it was last contended. Side by side is tried again then. */
const FIRST_MS = 5_000
/** Twice as long each time that side by side did not work, up to this. */
const LONGEST_MS = 300_000

interface Contention {
  until: number
  forMs: number
}

export class ContentionQueue {
  readonly #contended = new Map<string, Contention>()
  readonly #last = new Map<string, Promise<void>>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Two groups with events of this unit were in each other's way. */
  contended({ name }: HandlerUnit): void {
    const now = this.#now()
    const before = this.#contended.get(name)
    if (before === undefined || now > before.until + before.forMs) {
      this.#contended.set(name, { until: now + FIRST_MS, forMs: FIRST_MS })
      return
    }
    // While they run one after the other, the one in the way is another process, which says nothing new.
    if (now > before.until) before.forMs = Math.min(before.forMs * 2, LONGEST_MS)
    before.until = Math.max(before.until, now + before.forMs)
  }

  /** Resolves when no other group with any of these units runs; returns how to let the next one run. */
  async take(units: Iterable<HandlerUnit>): Promise<() => void> {
    // In one order for all, or two groups could each wait for what the other has.
    const names = [...new Set([...units].map(({ name }) => name))].filter((name) =>
      this.#isSerialized(name),
    )
    const ends: (() => void)[] = []
    for (const name of names.sort()) ends.push(await this.#takeOne(name))
    return () => {
      for (const end of ends) end()
    }
  }

  #isSerialized(name: string): boolean {
    return this.#now() < (this.#contended.get(name)?.until ?? 0)
  }

  async #takeOne(name: string): Promise<() => void> {
    const before = this.#last.get(name)
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    this.#last.set(name, ended)
    await before
    return () => {
      if (this.#last.get(name) === ended) this.#last.delete(name)
      end()
    }
  }
}
