/**
 * Which topics have which slots of the worker, and which may have one more.
 *
 * - The last free slots are kept for a topic that has none and runs well. A flood, a type that only fails and a
 *   handler that hangs can each have all the others, and an event of a quiet source still starts at once.
 * - Of a topic none of whose events has ended it is not known how it runs, and it may hang. Those of one handler leave
 *   one more slot to others together, and those of one source the very last one.
 *
 * @module
 */

import type { Topic } from '../model/topic.ts'
import type { OwnTopic } from './due-topics.ts'
import type { ResolvedWorkerOptions } from './options.ts'
import type { TopicHealth } from './topic-health.ts'

export interface TopicSlotsContext {
  readonly options: ResolvedWorkerOptions
  readonly health: TopicHealth
}

interface Held {
  readonly slots: number
  readonly source: string
  /** The name of its handlers. */
  readonly unit: string
}

export class TopicSlots {
  readonly #context: TopicSlotsContext
  readonly #held = new Map<Topic, Held>()
  #busy = 0

  constructor(context: TopicSlotsContext) {
    this.#context = context
  }

  /** Whether a slot is about to claim something, or runs it. */
  get isBusy(): boolean {
    return this.#busy > 0
  }

  /** Whether the topic has a slot. */
  has(topic: Topic): boolean {
    return this.#held.has(topic)
  }

  /** One slot takes these, until it gives them back. */
  take(topics: readonly OwnTopic[]): void {
    this.#busy += 1
    for (const due of topics) this.#hold(due, this.#slotsOf(due.topic) + 1)
  }

  giveBack(topics: readonly OwnTopic[]): void {
    this.#busy -= 1
    for (const due of topics) this.#hold(due, this.#slotsOf(due.topic) - 1)
  }

  /** Whether one more slot may run events of the topic. The slot that asks is free itself. */
  mayHaveOne(due: OwnTopic): boolean {
    const { kind, topic, unit } = due
    const { health, options } = this.#context
    const isKnown = health.isKnown(topic)
    if (!isKnown && !this.#leavesSlots(due)) return false
    if (this.#busy < options.concurrency) return this.#slotsOf(topic) < options.concurrency
    const isNew = kind === 'fresh' || kind === 'head'
    if (!isNew || this.#held.has(topic) || health.isTroubled(topic, unit.name)) return false
    return isKnown || this.#listUnknown('unit', unit.name).length < options.reserved
  }

  /**
   * Whether slots are left when one more runs that may hang, as all of them may: one of all slots for another source,
   * and one of the shared ones for another handler. Of two slots in all, the second is for another handler.
   */
  #leavesSlots({ source, unit }: OwnTopic): boolean {
    const { concurrency, reserved } = this.#context.options
    if (reserved === 0) return true
    return (
      this.#countSlots('unit', unit.name) < Math.max(1, concurrency - 1) &&
      this.#countSlots('source', source) < Math.max(2, concurrency + reserved - 1)
    )
  }

  #slotsOf(topic: Topic): number {
    return this.#held.get(topic)?.slots ?? 0
  }

  #hold({ topic, source, unit }: OwnTopic, slots: number): void {
    if (slots > 0) this.#held.set(topic, { slots, source, unit: unit.name })
    else this.#held.delete(topic)
  }

  /** How many slots run topics of a source, or with the same handlers, of which none has ended. */
  #countSlots(by: 'source' | 'unit', name: string): number {
    return this.#listUnknown(by, name).reduce((sum, { slots }) => sum + slots, 0)
  }

  #listUnknown(by: 'source' | 'unit', name: string): readonly Held[] {
    return [...this.#held].flatMap(([topic, held]) =>
      held[by] === name && !this.#context.health.isKnown(topic) ? [held] : [],
    )
  }
}
