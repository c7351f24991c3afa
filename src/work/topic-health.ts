/**
 * Which topics run well. One that fails, hangs or takes long may still have most of the worker's places, but not
 * the last ones: those stay for what is likely to be over soon.
 *
 * A topic of which nothing has ended yet is judged by the others that have the same handlers.
 *
 * @module
 */

import type { Topic } from '../model/topic.ts'

/** How much the latest run says, against all before it: three failures in a row are trouble, one is not. */
const LATEST = 0.2
/** From how large a part of failed runs on a topic is in trouble. */
const FAILING = 0.45
const REMEMBERED_MAX = 10_000

/** How one run of a topic went. */
export interface Run {
  /** The name of its handlers. */
  readonly unit: string
  readonly durationMs: number
  readonly failed: boolean
}

interface Health {
  averageMs: number
  /** Of the latest runs, how large a part has failed. */
  failed: number
}

export class TopicHealth {
  readonly #slowMs: number
  readonly #topics = new Map<Topic, Health>()
  /** Of the topics that have the same handlers, how many have run, and how many of them are in trouble. */
  readonly #units = new Map<string, { known: number; troubled: number }>()

  constructor({ slowMs }: { readonly slowMs: number }) {
    this.#slowMs = slowMs
  }

  /** An event of the topic has run. */
  ran(topic: Topic, { unit, durationMs, failed }: Run): void {
    if (!this.#topics.has(topic) && this.#topics.size >= REMEMBERED_MAX) this.#forget()
    const before = this.#topics.get(topic)
    const health = before ?? { averageMs: durationMs, failed: 0 }
    const wasTroubled = before !== undefined && this.#isBad(before)
    this.#topics.set(topic, health)
    health.averageMs += (durationMs - health.averageMs) * LATEST
    health.failed += ((failed ? 1 : 0) - health.failed) * LATEST

    const all = this.#units.get(unit) ?? { known: 0, troubled: 0 }
    this.#units.set(unit, all)
    if (before === undefined) all.known += 1
    all.troubled += Number(this.#isBad(health)) - Number(wasTroubled)
  }

  /** Whether an event of the topic has ended. Of one that hangs, none has. */
  isKnown(topic: Topic): boolean {
    return this.#topics.has(topic)
  }

  /** `unit` is the name of its handlers. */
  isTroubled(topic: Topic, unit: string): boolean {
    const health = this.#topics.get(topic)
    if (health !== undefined) return this.#isBad(health)
    const others = this.#units.get(unit)
    return others !== undefined && others.troubled > others.known / 2
  }

  #isBad({ averageMs, failed }: Health): boolean {
    return averageMs > this.#slowMs || failed > FAILING
  }

  #forget(): void {
    this.#topics.clear()
    this.#units.clear()
  }
}
