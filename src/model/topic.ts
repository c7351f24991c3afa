import { createHash } from 'node:crypto'

/**
 * A source and a type of event, as one number. Handlers are found by the two, and slots are shared by them: the
 * queue is claimed topic by topic, so that a flood of one cannot hold up another.
 *
 * 20 bits for the source and 32 for the type, each of a SHA-256, since every engine and JavaScript itself hold 52 bits
 * exactly. Two pairs that share a number would only share their part of the slots: which handlers an event has is
 * decided by its source and type themselves. The source comes first, so that all topics of one lie side by side and a
 * walk over the sources can step over its types (`work/look-order.ts`).
 */
export type Topic = number

/**
 * Of an event that has run in a transaction of the user's (`once/once.ts`). No source and type have this number, so
 * that no worker would ever claim such an event, and an operator cannot have it run again.
 */
export const NO_TOPIC: Topic = -1

/** How many topics a source can have. */
const TYPES = 2 ** 32
const SOURCE_SHIFT = 2 ** 12

/** A sender may invent types without end, and what is remembered of them may not grow for ever. */
const REMEMBERED_MAX = 10_000

/** Remembers what it has computed. */
export class Topics {
  readonly #known = new Map<string, Map<string, Topic>>()
  #size = 0

  of(source: string, type: string): Topic {
    const known = this.#known.get(source)?.get(type)
    if (known !== undefined) return known
    const topic = topicOf(source, type)
    if (this.#size >= REMEMBERED_MAX) {
      this.#known.clear()
      this.#size = 0
    }
    const types = this.#known.get(source) ?? new Map<string, Topic>()
    types.set(type, topic)
    this.#known.set(source, types)
    this.#size += 1
    return topic
  }
}

/**
 * The type as the stores keep it: neither of them can hold a NUL, and both replace it.
 * A source's name has no control characters, so that no two pairs read the same.
 */
export function topicOf(source: string, type: string): Topic {
  const text = `${source}\u001f${type.replaceAll('\0', '\ufffd')}`
  const ofSource = Math.floor(digest(source).readUInt32BE(0) / SOURCE_SHIFT)
  return ofSource * TYPES + digest(text).readUInt32BE(0)
}

/** The least and the greatest number that a topic of the source can have. */
export function topicRange(source: string): readonly [first: Topic, last: Topic] {
  const last = lastTopicBeside(topicOf(source, ''))
  return [last - TYPES + 1, last]
}

/** The greatest number that a topic of the same source can have. */
export function lastTopicBeside(topic: Topic): Topic {
  return (Math.floor(topic / TYPES) + 1) * TYPES - 1
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
