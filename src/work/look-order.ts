/**
 * Where the next look at the queue begins.
 *
 * A look sees a page of topics, in their order, in which those of one source lie side by side. A source may have types
 * without end: page by page its twenty thousand would come before the only one of the next source. So the walk over all
 * sources sees one page of each at most, and steps over the rest of it. The rest is seen by looks in between, one page
 * for each walk, of one large source after the other.
 *
 * @module
 */

import { lastTopicBeside } from '../model/topic.ts'
import type { Topic } from '../model/topic.ts'

/** A source with more topics than a page has, of which the rest is yet to be seen. */
interface LargeSource {
  readonly after: Topic
  readonly last: Topic
}

/** Before the first topic. */
const BEGIN: Topic = -1

export class LookOrder {
  /** How far the walk over all sources has come. */
  #walked: Topic = BEGIN
  #large: LargeSource[] = []
  /** Of the sources that were found to be large since all was seen, the last topic. */
  readonly #known = new Set<Topic>()
  #isTurnOfLarge = false

  /** The topic after which the next look begins. */
  get after(): Topic {
    const large = this.#isTurnOfLarge ? this.#large[0] : undefined
    return large === undefined ? this.#walked : large.after
  }

  /** Whether all topics have been seen since it was so before. */
  get isWhole(): boolean {
    return this.#walked === BEGIN && this.#large.length === 0
  }

  /** A look from `after` on has ended, and there are more topics after `next`, if any. */
  seen(next: Topic | undefined): void {
    const large = this.#isTurnOfLarge ? this.#large.shift() : undefined
    if (large === undefined) this.#walk(next)
    else if (next !== undefined && next < large.last) this.#large.push({ ...large, after: next })
    if (this.isWhole) this.#known.clear()
    const hasWalked = large === undefined && this.#walked === BEGIN
    this.#isTurnOfLarge = hasWalked && this.#large.length > 0
  }

  #walk(next: Topic | undefined): void {
    if (next === undefined) {
      this.#walked = BEGIN
      return
    }
    const last = lastTopicBeside(next)
    if (!this.#known.has(last)) this.#large.push({ after: next, last })
    this.#known.add(last)
    this.#walked = last
  }
}
