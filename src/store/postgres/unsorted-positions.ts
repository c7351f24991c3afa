/**
 * From where on the topics of each source are worth looking at for events that have no lane yet.
 *
 * What was sorted leaves dead entries at the head of the index for as long as an old snapshot is held somewhere, and each
 * sorting reads it four times. Measured with 2,000 of them: 8,000 entries for one event. From the
 * positions on it reads those of the last seconds.
 *
 * What becomes visible below a position later than its slack is found by a look at the whole topic, every WHOLE_EVERY_MS.
 * So is what a clock that was set back puts there, and at once where nothing else is found.
 *
 * A topic that was empty keeps a position: other topics are found by a walk that would read its dead entries.
 *
 * Only PostgreSQL: a row that was deleted is gone from an index of SQLite at once.
 *
 * @module
 */

import type { Topic } from '../../model/topic.ts'

/** Where a look at a topic begins, in microseconds since 1970; without `at`, at its first event. */
export interface UnsortedStart {
  readonly topic: Topic
  readonly at: number | undefined
}

/** A topic, when the first that was found of it was due, and when that was asked, by the database's clock. */
export interface UnsortedFound {
  readonly topic: Topic
  readonly runAt: number | undefined
  readonly askedAt: number
}

export class UnsortedPositions {
  readonly #sources = new Map<string, Map<Topic, UnsortedPosition>>()

  /** Before the topics are listed: where to begin in each that has a position. */
  begin(source: string): readonly UnsortedStart[] {
    const topics = [...(this.#sources.get(source)?.keys() ?? [])]
    return topics.map((topic) => ({ topic, at: this.find(source, topic) }))
  }

  /** `undefined` where the whole topic is to be looked at. */
  find(source: string, topic: Topic): number | undefined {
    const position = this.#sources.get(source)?.get(topic)
    const isGood = position !== undefined && performance.now() - position.wholeAt < WHOLE_EVERY_MS
    return isGood ? position.low : undefined
  }

  /** After it. */
  end(source: string, starts: readonly UnsortedStart[], found: readonly UnsortedFound[]): void {
    const startOf = new Map(starts.map(({ topic, at }) => [topic, at]))
    const known = this.#sources.get(source) ?? new Map<Topic, UnsortedPosition>()
    this.#sources.set(source, known)
    if (known.size + found.length > POSITIONS_MAX) known.clear()
    for (const { topic, runAt, askedAt } of found) {
      const at = startOf.get(topic)
      // From a position on nothing was found: it stays where it is.
      if (runAt === undefined && at !== undefined) continue
      const wholeAt = at === undefined ? performance.now() : known.get(topic)?.wholeAt
      if (wholeAt !== undefined) known.set(topic, { low: (runAt ?? askedAt) - SLACK_US, wholeAt })
    }
  }

  /** Has every topic of the source looked at whole; whether there was a position. */
  forget(source: string): boolean {
    return this.#sources.delete(source)
  }
}

interface UnsortedPosition {
  readonly low: number
  readonly wholeAt: number
}

/** A row may become visible later than one that is due after it, by as long as its transaction took. */
const SLACK_US = 10_000_000
const WHOLE_EVERY_MS = 5_000
/** Topics of a source: each is a probe of the index. */
const POSITIONS_MAX = 1_000
