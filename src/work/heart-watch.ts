/**
 * Who has died, by watching hearts.
 *
 * A worker is dead when its heart was seen to stand still for `deadAfterMs`, by the clock of the worker that
 * watches, and only time counts in which a living worker could have beaten:
 *
 * - The watcher's own heart has moved as well. While the database is away, read-only or locked, all hearts stand
 *   still, and the first worker to come back would take all the others for dead.
 * - Between two looks no more counts than there should be between them. A look that was held up, or a process
 *   that stood still itself, has not watched for longer.
 * - A look that fails ends the watch, and the next one begins it anew.
 *
 * A worker that watches only for moments, in a function that is called now and then, would never see a heart stand still for
 * as long. It believes what the database says of the time before its first look, all but a millisecond, and so needs to
 * see two looks without a beat, each after a beat of its own. Should it be wrong, because the database was away until
 * now or its clock was set, an event runs again that another worker runs: what that one writes is refused.
 *
 * So a worker that dies is found after some looks of a watcher that reaches the database, whatever the
 * clocks say, and an outage kills no worker.
 *
 * @module
 */

import type { Heart } from '../store/contract/workers.ts'

/** How often hearts are looked at while one of them stands still for as long as a worker that is dead. */
const LOOKS = 5
/** A worker that lives has beaten in that time: it beats once a second, or more often. */
const BRIEF_LOOK_MS = 1_500

export interface WatchTerms {
  readonly deadAfterMs: number
  /** Whether it watches only for moments. */
  readonly isBrief: boolean
}

export class HeartWatch {
  /** How long to wait between two looks. */
  readonly lookMs: number
  readonly #me: string
  readonly #deadAfterMs: number
  readonly #isBrief: boolean
  #watched = new Map<string, { readonly beat: string; readonly stillMs: number }>()
  #mine: string | undefined
  #countedAt: number | undefined

  constructor(me: string, { deadAfterMs, isBrief }: WatchTerms) {
    this.#me = me
    this.#deadAfterMs = deadAfterMs
    this.#isBrief = isBrief
    const lookMs = Math.floor(deadAfterMs / LOOKS)
    this.lookMs = isBrief ? Math.min(lookMs, BRIEF_LOOK_MS) : lookMs
  }

  /** Whether one more look may find a worker dead that has not been found yet. */
  get hasSuspect(): boolean {
    const suspiciousMs = this.#deadAfterMs - 1
    return (
      this.#isBrief && [...this.#watched.values()].some(({ stillMs }) => stillMs === suspiciousMs)
    )
  }

  /** Those that are dead, of all hearts as they stand now. */
  look(hearts: readonly Heart[], now = performance.now()): readonly Heart[] {
    const countedMs = this.#count(hearts, now)
    const others = hearts.filter(({ workerId }) => workerId !== this.#me)
    const before = this.#watched
    this.#watched = new Map(
      others.map((heart) => {
        const { workerId, beat } = heart
        const known = before.get(workerId)
        const stillMs = known?.beat === beat ? known.stillMs + countedMs : this.#believe(heart)
        return [workerId, { beat, stillMs }]
      }),
    )
    return others.filter(({ workerId, isGone }) => isGone || this.#isStill(workerId))
  }

  #believe({ stillMs }: Heart): number {
    return this.#isBrief ? Math.min(Math.max(0, stillMs), this.#deadAfterMs - 1) : 0
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
