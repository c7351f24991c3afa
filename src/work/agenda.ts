/**
 * What a slot does next: which kind of claim, from which topics, how many events of each.
 *
 * - Topics share the slots (`fair-order.ts`), so that a flood of one holds up no other.
 * - Fresh events come before those that have failed, except now and then (`claim-order.ts`).
 * - The last free slots are kept for topics that have none (`topic-slots.ts`).
 *
 * What the agenda knows of the queue comes from looks, which run beside the claims, and from what this process stores.
 *
 * @module
 */

import type { Topic } from '../model/topic.ts'
import type { DueKind, DueTopic, Look, LookRequest } from '../store/contract/queue.ts'
import type { TopicShare } from '../store/contract/claimed-event.ts'
import { listKinds } from './claim-order.ts'
import { DueTopics } from './due-topics.ts'
import type { OwnTopic } from './due-topics.ts'
import { FairOrder } from './fair-order.ts'
import type { Branch } from './fair-order.ts'
import type { GroupSizes } from './group/group-sizes.ts'
import type { HandlerRegistry } from './handler-registry.ts'
import type { HandlerUnit } from './handler-unit.ts'
import { LookOrder } from './look-order.ts'
import type { ResolvedWorkerOptions } from './options.ts'
import type { TopicHealth } from './topic-health.ts'
import { TopicSlots } from './topic-slots.ts'

export interface AgendaContext {
  readonly handlers: HandlerRegistry
  readonly options: ResolvedWorkerOptions
  readonly sizes: GroupSizes
  readonly health: TopicHealth
  readonly look: (request: LookRequest) => Promise<Look>
  /** Whether an operator has paused the source, or one of the handlers. */
  readonly isPaused: (source: string, unit: HandlerUnit) => boolean
  /** How many more events of a topic with step handlers may be leased now, beside those that are promised. */
  readonly stepRoom: (due: OwnTopic, promised: number) => number
  /** A look beside the claims has found something. */
  readonly onFound: () => void
  /** Something is due that this worker has no handler for. */
  readonly onForeign: () => void
  readonly onError: (error: unknown) => void
}

/** A claim to make. Ends with `ended`, exactly once. */
export interface Plan {
  readonly kind: DueKind
  readonly topics: readonly PlannedTopic[]
}

export interface PlannedTopic extends TopicShare {
  readonly due: OwnTopic
  readonly branch: Branch
}

/** How many topics a look returns at most, of each kind. */
const LOOK_LIMIT = 256
/** How often a busy worker looks at the queue beside its claims. */
const LOOK_EVERY_MS = 100
/** The same after word of a change, which may come with every delivery. */
const LOOK_SOON_MS = 20
/** The same while there are sources that the looks have not come to. */
const LOOK_ON_MS = 20
/** A look that is slow, because the queue's index is full of what is dead, is made so much more rarely. */
const LOOK_SHARE = 20
/** How many topics may share a group with the first one. */
const SIDE_TOPICS = 7
/**
 * How many events each of them may have, so that the first need not wait for them. Only where the first has fewer
 * itself.
 */
const SIDE_EVENTS = 10
/** Among how many topics of the same handlers the next is chosen: a flood of types must not make each choice slow. */
const CANDIDATES_MAX = 32
/** What a claim costs before it is known how long it takes, so that slots that begin together spread out. */
const CLAIM_MS = 1
/** How many events of a topic that fails or is slow are in one group at most. */
const TROUBLED_EVENTS = 10

export class Agenda {
  readonly #context: AgendaContext
  readonly #due: DueTopics
  readonly #order = new FairOrder()
  readonly #slots: TopicSlots
  /** How many leases slots are about to take. */
  #promised = 0
  /** Whether a slot is about to claim a suspect, or runs it. */
  #hasSuspect = false
  #looking: Promise<number | undefined> | undefined
  readonly #lookOrder = new LookOrder()
  #emptyAt = -Infinity
  #isLookWanted = false
  #lookedAt = 0
  #lookAgainAt = 0
  /** When the next event is due, by the last look. */
  #nextDueAt = Infinity

  constructor(context: AgendaContext) {
    this.#context = context
    this.#due = new DueTopics(context.handlers)
    this.#slots = new TopicSlots(context)
  }

  /**
   * This process has stored or found an event that is due. Returns whether the agenda did not know of its topic yet.
   */
  add(due: DueTopic): boolean {
    const isNew = this.#due.add(due)
    if (this.#due.hasForeign) this.#context.onForeign()
    return isNew
  }

  /** When a claim last found nothing, on the clock of `performance.now()`. */
  get emptyAt(): number {
    return this.#emptyAt
  }

  /** Whether a slot is about to claim something, or runs it. */
  get isBusy(): boolean {
    return this.#slots.isBusy
  }

  /** Waits for a look that is under way. */
  async idle(): Promise<void> {
    await this.#looking?.catch(() => undefined)
  }

  handlersChanged(): void {
    this.#due.handlersChanged()
  }

  /** The queue has changed: a slot that has nothing to do looks at once, a busy one soon. */
  lookSoon(): void {
    this.#isLookWanted = true
    this.#lookAgainAt = Math.min(this.#lookAgainAt, this.#lookedAt + LOOK_SOON_MS)
  }

  /**
   * The same as `next`, for a slot that has nothing else to do: after a look, if the queue has changed since the
   * last.
   */
  async nextAfterLook(round: number): Promise<Plan | undefined> {
    if (!this.#isLookWanted) return undefined
    await this.lookAround()
    return this.next(round)
  }

  /** Topics that were found and that this worker has no handler for. */
  takeForeign(): readonly DueTopic[] {
    return this.#due.takeForeign()
  }

  /** What to do in the given round of a slot, if there is anything that may be done now. */
  next(round: number): Plan | undefined {
    if (performance.now() >= this.#lookAgainAt) this.#lookBeside()
    for (const kind of listKinds(round)) {
      const plan = this.#plan(kind)
      if (plan === undefined) continue
      this.#slots.take(plan.topics.map(({ due }) => due))
      this.#promised += promiseOf(plan)
      if (kind === 'suspect') this.#hasSuspect = true
      for (const { branch, due } of plan.topics) {
        this.#due.moveBack(due)
        this.#order.charge(branch, CLAIM_MS)
      }
      return plan
    }
    return undefined
  }

  /** A topic of which fewer came than were asked for has nothing more for another slot. */
  claimed({ topics }: Plan, events: readonly { readonly topic: Topic }[]): void {
    for (const { topic, limit, due } of topics) {
      const count = events.filter((event) => event.topic === topic).length
      if (count > 0 && count < limit) this.#due.remove(due)
    }
  }

  /**
   * The claim of a plan has ended: which events it got, and how long they took. Where it got none, its topics have
   * nothing due.
   */
  ended(
    plan: Plan,
    { events, ranMs }: { events: readonly { topic: Topic }[]; ranMs: number },
  ): void {
    this.#slots.giveBack(plan.topics.map(({ due }) => due))
    this.#promised -= promiseOf(plan)
    if (plan.kind === 'suspect') this.#hasSuspect = false
    if (events.length === 0) this.#emptyAt = performance.now()
    for (const { topic, due, branch } of plan.topics) {
      const count = events.filter((event) => event.topic === topic).length
      if (count > 0) {
        this.#order.charge(branch, (ranMs * count) / events.length)
        // Some of the events may not have run, and others may have come.
        this.#due.add(due)
      } else if (events.length === 0) this.#due.remove(due)
    }
  }

  /**
   * Looks until something is found that may be done now, or all was looked at; while other slots are busy, once.
   * Returns how long until the next event is due, or until it is time to look again; 0 when there is something to do.
   */
  async lookAround(): Promise<number | undefined> {
    const restMs = this.#restMs()
    if (restMs > 0) return this.#hasPlan() ? 0 : restMs
    let nextDueInMs: number | undefined
    do {
      nextDueInMs = await (this.#looking ??= this.#look())
      if (this.#hasPlan()) return 0
      // What it did not come to can wait for as long as there is something else to do.
      if (!this.#lookOrder.isWhole && this.#restMs() > 0) return this.#restMs()
      // A change that was told of during a look may be one that the look could not see yet.
    } while (!this.#lookOrder.isWhole || this.#isLookWanted)
    return nextDueInMs
  }

  /**
   * For how long a free slot leaves the queue alone, while others are busy. A slot that is kept for a quiet topic is
   * called with every claim of theirs, and would look each time: measured, a look for each group, which took a
   * quarter of the database's time, and of groups of one event a third.
   */
  #restMs(): number {
    if (!this.#slots.isBusy || this.#isLookWanted) return 0
    return Math.max(0, Math.min(this.#lookAgainAt, this.#nextDueAt) - performance.now())
  }

  #lookBeside(): void {
    if (this.#looking !== undefined) return
    this.#looking = this.#look()
    this.#looking.then(
      () => this.#hasPlan() && this.#context.onFound(),
      (error: unknown) => this.#context.onError(error),
    )
  }

  async #look(): Promise<number | undefined> {
    const startedAt = performance.now()
    this.#isLookWanted = false
    try {
      const { due, nextDueInMs, next } = await this.#context.look({
        after: this.#lookOrder.after,
        limit: LOOK_LIMIT,
        runsSuspect: this.#hasSuspect,
      })
      this.#lookOrder.seen(next)
      this.#nextDueAt = performance.now() + (nextDueInMs ?? Infinity)
      for (const each of due) this.add(each)
      return nextDueInMs
    } finally {
      const now = performance.now()
      this.#lookedAt = now
      const everyMs = this.#lookOrder.isWhole ? LOOK_EVERY_MS : LOOK_ON_MS
      this.#lookAgainAt = now + Math.max(everyMs, (now - startedAt) * LOOK_SHARE)
      this.#looking = undefined
    }
  }

  #hasPlan(): boolean {
    return listKinds(0).some((kind) =>
      this.#due.listByUnit(kind).some((topics) => this.#listCandidates(topics, 1).length > 0),
    )
  }

  #plan(kind: DueKind): Plan | undefined {
    const candidates = this.#due
      .listByUnit(kind)
      .flatMap((topics) => this.#listCandidates(topics, CANDIDATES_MAX))
    if (candidates.length === 0) return undefined
    const first = this.#order.pick(candidates)
    return { kind, topics: [first, ...this.#listSide(first, candidates)] }
  }

  /** Those of topics with the same handlers that may be claimed now, so many at most. */
  #listCandidates(topics: Iterable<OwnTopic>, most: number): readonly PlannedTopic[] {
    const candidates: PlannedTopic[] = []
    for (const due of topics) {
      // The same for all of them.
      if (this.#context.isPaused(due.source, due.unit)) break
      const planned = this.#consider(due)
      if (planned !== undefined) candidates.push(planned)
      if (candidates.length >= most) break
    }
    return candidates
  }

  #consider(due: OwnTopic): PlannedTopic | undefined {
    const { kind, topic, source, unit } = due
    // One at a time. Another slot would find nothing, and forget a topic that is next.
    if (kind === 'suspect' && this.#hasSuspect) return undefined
    // An event that was leased before its step handler was removed is leased once more, and goes back to the groups.
    const limit = isSort(due)
      ? this.#sortRoom(topic)
      : unit.isSteps || kind === 'leasable'
        ? this.#stepRoom(due)
        : this.#slots.mayHaveOne(due)
          ? this.#groupLimit(unit, topic)
          : 0
    if (limit === 0) return undefined
    const weight = this.#context.options.weights[source] ?? 1
    const branch = [
      { name: `source ${source}`, weight },
      { name: `handler ${unit.name}`, weight: unit.weight },
      { name: `topic ${topic}`, weight: 1 },
    ]
    return { topic, limit, due, branch }
  }

  /**
   * Few of a topic in trouble: a group with a failure runs again one by one, and on SQLite all others wait for it.
   * Measured beside a flood that fails, with groups of 200: a quiet source waited 64 ms, 10 times as long as alone.
   */
  #groupLimit(unit: HandlerUnit, topic: Topic): number {
    const limit = this.#context.sizes.limitFor(unit, topic)
    const isTroubled = this.#context.health.isTroubled(topic, unit.name)
    return isTroubled ? Math.min(limit, TROUBLED_EVENTS) : limit
  }

  /** One slot at a time leases events of a topic: how many there is room for depends on what the other takes. */
  #stepRoom(due: OwnTopic): number {
    return this.#slots.has(due.topic) ? 0 : this.#context.stepRoom(due, this.#promised)
  }

  /** One slot at a time sorts: another would find that the lock is taken. */
  #sortRoom(topic: Topic): number {
    return this.#slots.has(topic) ? 0 : 1
  }

  /**
   * Topics with few events share a group, where all of them are known to run well: no outcome of a group is written
   * before its last event has ended.
   */
  #listSide(first: PlannedTopic, candidates: readonly PlannedTopic[]): readonly PlannedTopic[] {
    const { kind } = first.due
    if ((kind !== 'fresh' && kind !== 'head') || !this.#isCompany(first)) return []
    return candidates
      .filter(
        (each) => each !== first && isAlike(each.due.unit, first.due.unit) && this.#isCompany(each),
      )
      .slice(0, SIDE_TOPICS)
      .map((each) => ({ ...each, limit: Math.min(each.limit, SIDE_EVENTS) }))
  }

  #isCompany(planned: PlannedTopic): boolean {
    const { topic, due } = planned
    const { health } = this.#context
    return isGroupable(planned) && health.isKnown(topic) && !health.isTroubled(topic, due.unit.name)
  }
}

/** With so many of the first topic a claim goes on to no further one. */
export const ENOUGH = SIDE_EVENTS

/** Step events run beside the slots, in places of their own. */
function promiseOf({ kind, topics }: Plan): number {
  const [first] = topics
  if (first !== undefined && isSort(first.due)) return 0
  return first !== undefined && (kind === 'leasable' || first.due.unit.isSteps) ? first.limit : 0
}

function isGroupable({ due, limit }: PlannedTopic): boolean {
  return !due.unit.isSteps && !isSort(due) && limit > 1
}

/** What is fresh and has an order is sorted into its lane before it is claimed. */
export function isSort({ kind, unit }: OwnTopic): boolean {
  return kind === 'fresh' && unit.order !== undefined
}

function isAlike(one: HandlerUnit, other: HandlerUnit): boolean {
  return one.guarantee === other.guarantee
}
