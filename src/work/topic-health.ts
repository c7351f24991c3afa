/**
 * Which topics run well. One that fails, hangs or takes long may still have most of the worker's places, but not
 * the last ones: those stay for what is likely to be over soon.
 *
 * @module
 */

import type { Topic } from '../model/topic.ts'

/** How much the latest run says, against all before it: three failures in a row are trouble, one is not. */
const LATEST = 0.2
/** From how large a part of failed runs on a topic is in trouble. */
const FAILING = 0.45
const REMEMBERED_MAX = 10_000

interface Health {
  averageMs: number
  /** Of the latest runs, how large a part has failed. */
  failed: number
}

export class TopicHealth {
  readonly #slowMs: number
  readonly #topics = new Map<Topic, Health>()

  constructor({ slowMs }: { readonly slowMs: number }) {
    this.#slowMs = slowMs
  }

  /** An event of the topic has run. */
  ran(topic: Topic, { durationMs, failed }: { durationMs: number; failed: boolean }): void {
    const health = this.#topics.get(topic)
    if (health === undefined) {
      if (this.#topics.size >= REMEMBERED_MAX) this.#topics.clear()
      this.#topics.set(topic, { averageMs: durationMs, failed: failed ? LATEST : 0 })
      return
    }
    health.averageMs += (durationMs - health.averageMs) * LATEST
    health.failed += ((failed ? 1 : 0) - health.failed) * LATEST
  }

  isTroubled(topic: Topic): boolean {
    const health = this.#topics.get(topic)
    if (health === undefined) return false
    return health.averageMs > this.#slowMs || health.failed > FAILING
  }
}
