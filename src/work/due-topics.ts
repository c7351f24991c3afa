/**
 * Which topics have something due, as far as this worker knows: from looks at the queue, and from what this process
 * has stored. A claim that finds nothing ends it; the next look or delivery begins it anew.
 *
 * @module
 */

import type { Topic } from '../model/topic.ts'
import type { DueKind, DueTopic } from '../store/contract/queue.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import type { HandlerUnit } from './handler-unit.ts'

/** A topic that this worker has handlers for. */
export interface OwnTopic extends DueTopic {
  readonly unit: HandlerUnit
}

/** Of each kind. A sender may invent types without end; what does not fit is found by a later look. */
const TOPICS_MAX = 1_000

export class DueTopics {
  readonly #handlers: HandlerRegistry
  readonly #own: Readonly<Record<DueKind, Map<Topic, OwnTopic>>> = {
    fresh: new Map(),
    head: new Map(),
    again: new Map(),
    suspect: new Map(),
    leasable: new Map(),
  }
  #foreign = new Map<string, DueTopic>()

  constructor(handlers: HandlerRegistry) {
    this.#handlers = handlers
  }

  /** Whether it was not known, and is for this worker to run. */
  add(due: DueTopic): boolean {
    const { kind, topic, source, type } = due
    const own = this.#own[kind]
    if (own.has(topic)) return false
    const unit = this.#handlers.findUnit(source, type)
    if (unit === undefined) {
      if (this.#foreign.size < TOPICS_MAX) this.#foreign.set(`${kind} ${topic}`, due)
      return false
    }
    if (own.size >= TOPICS_MAX) return false
    own.set(topic, { ...due, unit })
    return true
  }

  remove({ kind, topic }: Pick<DueTopic, 'kind' | 'topic'>): void {
    this.#own[kind].delete(topic)
  }

  list(kind: DueKind): readonly OwnTopic[] {
    return [...this.#own[kind].values()]
  }

  /** Handlers were added: an event may have one more, and one without any may have one now. */
  handlersChanged(): void {
    const all = [
      ...Object.values(this.#own).flatMap((own) => [...own.values()]),
      ...this.takeForeign(),
    ]
    for (const own of Object.values(this.#own)) own.clear()
    for (const { kind, topic, source, type } of all) this.add({ kind, topic, source, type })
  }

  get hasForeign(): boolean {
    return this.#foreign.size > 0
  }

  /** Topics that this worker has no handler for, and forgets. */
  takeForeign(): readonly DueTopic[] {
    const foreign = [...this.#foreign.values()]
    this.#foreign = new Map()
    return foreign
  }
}
