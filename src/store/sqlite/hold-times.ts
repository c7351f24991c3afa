/**
 * How long the events of a topic, or the steps of a handler, hold the writer, and which of them are slow.
 *
 * What counts is the time from the first write of a handler to the end of its transaction. A handler that calls
 * outside before it writes is slow for its own event only, and holds nothing meanwhile.
 *
 * Only SQLite: PostgreSQL lets many write at once.
 *
 * @module
 */

import type { Topic } from '../../model/topic.ts'

/** The topic of an event, or the name of a step's handler. */
export type Holder = Topic | string

/**
 * From how long on a holder is slow. A group of quick events may hold the writer for twice as long, but it is many
 * events, and there is one of it at a time.
 */
export const SLOW_MS = 50
/** How much the latest says, against all before it. */
const LATEST = 0.5
/** One that has hung until its time-out is not remembered by all of that. */
const COUNTED_MS_MAX = 10_000
const REMEMBERED_MAX = 10_000

export class HoldTimes {
  readonly #averageMs = new Map<Holder, number>()

  /** A transaction of these, one for each event or step, was open for so long. Of several, none is known for it. */
  held(holders: readonly Holder[], heldMs: number): void {
    const [first] = holders
    if (first === undefined || holders.some((holder) => holder !== first)) return
    const eachMs = Math.min(heldMs / holders.length, COUNTED_MS_MAX)
    const before = this.#averageMs.get(first) ?? eachMs
    if (this.#averageMs.size >= REMEMBERED_MAX) this.#averageMs.clear()
    this.#averageMs.set(first, before + (eachMs - before) * LATEST)
  }

  /** How long the slowest of these is likely to hold the writer; 0 if none of them is slow. */
  findSlowMs(holders: readonly Holder[]): number {
    const longestMs = Math.max(0, ...holders.map((holder) => this.#averageMs.get(holder) ?? 0))
    return longestMs < SLOW_MS ? 0 : longestMs
  }
}
