/**
 * Which topic is next: slots are shared between sources, then the handlers of a source, then the types of a handler.
 *
 * Each has a clock that runs while its events run, slower for one of greater weight, and the one whose clock is
 * behind is next. So a source with two hundred types has no more than one with a single type, a handler that takes
 * a second runs once where a quick one runs often, and none of them waits for the others' backlogs.
 *
 * @module
 */

/** A topic's place: names from the source down to the type, each with its weight. */
export type Branch = readonly { readonly name: string; readonly weight: number }[]

/** What is remembered may not grow for ever. Forgetting it makes all equal again. */
const REMEMBERED_MAX = 10_000

export class FairOrder {
  readonly #clocks = new Map<string, number>()

  /** One of the candidates, of which there is at least one: the one whose clocks are furthest behind. */
  pick<Candidate extends { readonly branch: Branch }>(candidates: readonly Candidate[]): Candidate {
    let left = candidates
    for (let level = 0; left.length > 1 && level < (left[0]?.branch.length ?? 0); level += 1)
      left = this.#keepFirst(left, level)
    return left[0] as Candidate
  }

  /** Its events ran for so long. */
  charge(branch: Branch, ranMs: number): void {
    if (this.#clocks.size >= REMEMBERED_MAX) this.#clocks.clear()
    for (const { name, weight } of branch)
      this.#clocks.set(name, (this.#clocks.get(name) ?? 0) + ranMs / weight)
  }

  #keepFirst<Candidate extends { readonly branch: Branch }>(
    candidates: readonly Candidate[],
    level: number,
  ): readonly Candidate[] {
    const names = new Set(candidates.map(({ branch }) => branch[level]?.name ?? ''))
    const first = this.#findFirst([...names])
    return candidates.filter(({ branch }) => branch[level]?.name === first)
  }

  #findFirst(names: readonly string[]): string | undefined {
    const times = names.map((name) => this.#clocks.get(name) ?? 0)
    const latest = Math.max(...times)
    let first = 0
    for (const [index, name] of names.entries()) {
      // One that had nothing to do for long does not get back all that it did not use.
      const time = Math.max(times[index] ?? 0, latest - CREDIT_MS)
      this.#clocks.set(name, time)
      times[index] = time
      if (time < (times[first] ?? 0)) first = index
    }
    return names[first]
  }
}

/** How much of its unused time one can claim when it comes back. */
const CREDIT_MS = 1_000
