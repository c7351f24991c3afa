/**
 * Who has died, by watching hearts.
 *
 * A worker is dead when its heart was seen to stand still for `deadAfterMs`, by the clock of the one who
 * watches, and only time counts in which a living worker could have beaten:
 *
 * - The watcher's own heart has moved as well. While the database is away, read-only or locked, all hearts stand
 *   still, and the first worker to come back would take all the others for dead.
 * - Between two looks no more counts than there should be between them. A look that was held up, or a process
 *   that stood still itself, has not watched for longer.
 * - A look that fails ends the watch, and the next one begins it anew.
 *
 * So a worker that dies is found after some looks of a watcher that reaches the database, whatever the
 * clocks say, and an outage kills no worker.
 *
 * @module
 */

import type { Heart } from '../store/contract/workers.ts'

/** How often hearts are looked at while one of them stands still for as long as a worker that is dead. */
const LOOKS = 5

export class HeartWatch {
  /** How long to wait between two looks. */
  readonly lookMs: number
  readonly #me: string
  readonly #deadAfterMs: number
  #watched = new Map<string, { readonly beat: string; readonly stillMs: number }>()
  #mine: string | undefined
  #countedAt: number | undefined

  constructor(me: string, deadAfterMs: number) {
    this.#me = me
    this.#deadAfterMs = deadAfterMs
    this.lookMs = Math.floor(deadAfterMs / LOOKS)
  }

  /** Those that are dead, of all hearts as they stand now. */
  look(hearts: readonly Heart[], now = performance.now()): readonly Heart[] {
    const countedMs = this.#count(hearts, now)
    const others = hearts.filter(({ workerId }) => workerId !== this.#me)
    const before = this.#watched
    this.#watched = new Map(
      others.map(({ workerId, beat }) => {
        const known = before.get(workerId)
        const stillMs = known?.beat === beat ? known.stillMs + countedMs : 0
        return [workerId, { beat, stillMs }]
      }),
    )
    return others.filter(({ workerId, isGone }) => isGone || this.#isStill(workerId))
  }

  /** A look failed: what was seen before it is worth nothing. */
  beginAnew(): void {
    this.#watched.clear()
    this.#countedAt = undefined
  }

  /** How much of the time since the last look counts. */
  #count(hearts: readonly Heart[], now: number): number {
    const mine = hearts.find(({ workerId }) => workerId === this.#me)?.beat
    if (mine === undefined || mine === this.#mine) return 0
    const countedAt = this.#countedAt ?? now
    this.#mine = mine
    this.#countedAt = now
    return Math.min(now - countedAt, this.lookMs)
  }

  #isStill(workerId: string): boolean {
    const watched = this.#watched.get(workerId)
    return watched !== undefined && watched.stillMs >= this.#deadAfterMs
  }
}
