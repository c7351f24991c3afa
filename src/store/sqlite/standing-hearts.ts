/**
 * Which hearts were seen to stand still, and since when.
 *
 * No heart can beat while a transaction holds SQLite's only lock, and a sweep that waited for the same lock may
 * get it first. So a heart that stands still is looked at again a while later, when its worker has had the time
 * to beat, and has stopped only if it is still where it was.
 *
 * @module
 */

/** How long after the first look the second one may be, as a part of the time that makes a worker dead. */
const SECOND_LOOK = 1 / 4

/** A heart that has not beaten for `deadAfterMs`. */
export interface StandingHeart {
  readonly workerId: string
  readonly heartAt: number
}

export class StandingHearts {
  #seen: ReadonlyMap<string, { readonly heartAt: number; readonly at: number }> = new Map()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Looks at all that stand still now; returns the workers whose heart is where it was at the first look. */
  findStopped(standing: readonly StandingHeart[], deadAfterMs: number): ReadonlySet<string> {
    const now = this.#now()
    const looks = standing.map(({ workerId, heartAt }) => {
      const before = this.#seen.get(workerId)
      const at = before?.heartAt === heartAt ? before.at : now
      return [workerId, { heartAt, at }] as const
    })
    this.#seen = new Map(looks)
    const stopped = looks.filter(([, { at }]) => now - at >= deadAfterMs * SECOND_LOOK)
    return new Set(stopped.map(([workerId]) => workerId))
  }
}
