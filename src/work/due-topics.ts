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

/**
 * Of each kind, for each unit of handlers, and of each source for what has none. A sender may invent types without end;
 * what does not fit is found by a later look. Those of one sender never take the place of another's: with one limit for
 * all, the flood of a source with more types than that left a quiet one nothing for as long as it lasted.
 */
const TOPICS_MAX = 256

type ByGroup<Value> = Map<string, Map<Topic, Value>>

export class DueTopics {
  readonly #handlers: HandlerRegistry
  /** By the name of their handlers. */
  readonly #own: Readonly<Record<DueKind, ByGroup<OwnTopic>>> = createLists()
  /** By their source. */
  readonly #foreign: Readonly<Record<DueKind, ByGroup<DueTopic>>> = createLists()

  constructor(handlers: HandlerRegistry) {
    this.#handlers = handlers
  }

  /** Whether it was not known, and is for this worker to run. */
  add(due: DueTopic): boolean {
    const unit = this.#handlers.findUnit(due.source, due.type)
    if (unit !== undefined) return addTo(this.#own[due.kind], unit.name, { ...due, unit })
    addTo(this.#foreign[due.kind], due.source, due)
    return false
  }

  remove({ kind, topic, unit }: OwnTopic): void {
    const topics = this.#own[kind].get(unit.name)
    topics?.delete(topic)
    if (topics?.size === 0) this.#own[kind].delete(unit.name)
  }

  /** It is taken: the others with the same handlers come before it. */
  moveBack(due: OwnTopic): void {
    const topics = this.#own[due.kind].get(due.unit.name)
    if (topics?.delete(due.topic) === true) topics.set(due.topic, due)
  }

  /** For each unit of handlers its topics, those first that were not taken for longest. */
  listByUnit(kind: DueKind): readonly Iterable<OwnTopic>[] {
    return [...this.#own[kind].values()].map((topics) => topics.values())
  }

  /** Handlers were added: an event may have one more, and one without any may have one now. */
  handlersChanged(): void {
    const all = [...takeAll(this.#own), ...this.takeForeign()]
    for (const { kind, topic, source, type } of all) this.add({ kind, topic, source, type })
  }

  get hasForeign(): boolean {
    return Object.values(this.#foreign).some(({ size }) => size > 0)
  }

  /** Topics that this worker has no handler for, and forgets. */
  takeForeign(): readonly DueTopic[] {
    return takeAll(this.#foreign)
  }
}

function createLists<Value>(): Record<DueKind, ByGroup<Value>> {
  return {
    fresh: new Map(),
    head: new Map(),
    again: new Map(),
    suspect: new Map(),
    leasable: new Map(),
  }
}

/** Whether it is in the list now, and was not before. */
function addTo<Value extends { readonly topic: Topic }>(
  list: ByGroup<Value>,
  group: string,
  value: Value,
): boolean {
  const topics = list.get(group) ?? new Map<Topic, Value>()
  if (topics.has(value.topic) || topics.size >= TOPICS_MAX) return false
  list.set(group, topics.set(value.topic, value))
  return true
}

function takeAll<Value>(lists: Readonly<Record<DueKind, ByGroup<Value>>>): readonly Value[] {
  const all = Object.values(lists).flatMap((list) =>
    [...list.values()].flatMap((topics) => [...topics.values()]),
  )
  for (const list of Object.values(lists)) list.clear()
  return all
}
