/**
 * How many events of a topic share a transaction.
 *
 * Grouping is what makes running fast: one commit for many events. But a group holds its locks until it
 * commits, so on rows that many events share, groups wait for and deadlock with each other (measured:
 * fixed groups of 50 on shared rows fell to 120 events/s). So each topic finds its own size:
 * contention halves it, success lets it grow, and there are never more than fit into the group's time, so
 * that a slow handler is not grouped at all.
 *
 * A group's time is at least what its transaction takes without any handler: some trips to the database and back.
 * Where one of them takes longer than the group's time, because the database is far away or the machine is overloaded,
 * every event would else run alone, and pay for all the trips alone. Measured on an overloaded machine, beside requests
 * as fast as they were answered: 560 events stored a second, and 3 to 17 run.
 *
 * @module
 */

import type { Topic } from '../../model/topic.ts'
import type { HandlerUnit } from '../handler-unit.ts'

/** After the first event has shown that it can: large enough to pay, small enough to be rerun without regret. */
const START = 50
const REMEMBERED_MAX = 10_000
/**
 * Trips that a group makes whatever its size: it opens and is fenced, claims, is announced, sets a savepoint and drops
 * it, looks for traces, settles and commits.
 */
const TRIPS = 8
/** So many times its own budget a group has at most for the sake of slow trips: others wait for its locks. */
const STRETCH_MAX = 10

interface TopicSize {
  limit: number
  /** A moving average of how long one event takes. */
  averageMs: number
}

export class GroupSizes {
  readonly #groupMax: number
  readonly #groupBudgetMs: number
  readonly #sizes = new Map<Topic, TopicSize>()
  readonly #alone = new Set<string>()
  /** A moving average of how long one event takes to be settled, of whatever unit. */
  #settleMs = 0
  /** A moving average of how long a statement takes that has nothing to do. */
  #tripMs = 0

  constructor({ groupMax, groupBudgetMs }: { groupMax: number; groupBudgetMs: number }) {
    this.#groupMax = groupMax
    this.#groupBudgetMs = groupBudgetMs
  }

  limitFor(unit: HandlerUnit, topic: Topic): number {
    const ceiling = Math.min(unit.groupMax, this.#groupMax)
    // Nothing is rolled back or locked for these, so neither slowness nor contention matters.
    if (unit.guarantee === 'at-least-once') return ceiling
    if (this.#alone.has(unit.name)) return 1
    const size = this.#sizes.get(topic)
    // The first runs alone: what it may do to others of its kind is not known yet.
    if (size === undefined) return 1
    return Math.min(Math.max(1, Math.floor(this.#current(size))), ceiling)
  }

  /**
   * By the budget rather than a fixed limit for "slow": a busy machine makes every handler slow, and
   * without groups it would only get busier.
   */
  #current({ limit, averageMs }: TopicSize): number {
    if (averageMs === 0) return limit
    return Math.min(limit, this.#budgetMs / (averageMs + this.#settleMs))
  }

  get #budgetMs(): number {
    const stretched = Math.min(TRIPS * this.#tripMs, STRETCH_MAX * this.#groupBudgetMs)
    return Math.max(this.#groupBudgetMs, stretched)
  }

  /** Whether the group's time is over: what it has spent, and what settling its events will take. */
  isOver(spentMs: number, count: number): boolean {
    return spentMs + count * this.#settleMs > this.#budgetMs
  }

  /** A group that held `count` events of this topic committed. */
  succeeded(topic: Topic, count: number): void {
    const size = this.#get(topic)
    // Only a group that was as large as allowed says that a larger one would do.
    if (count >= Math.floor(this.#current(size)))
      size.limit = Math.min(size.limit * 1.25 + 1, this.#groupMax)
  }

  /** A group met a lock time-out or a deadlock in this topic. */
  contended(topic: Topic): void {
    const size = this.#get(topic)
    size.limit = Math.max(1, size.limit / 2)
  }

  /** A handler took the connection with it: one at a time until it has shown again that it can. */
  lost(topic: Topic): void {
    this.#get(topic).limit = 1
  }

  /** The unit changes settings of its transaction, which must not reach other events. */
  neverGroup(unit: HandlerUnit): void {
    this.#alone.add(unit.name)
  }

  measured(topic: Topic, durationMs: number): void {
    const size = this.#get(topic)
    size.averageMs =
      size.averageMs === 0 ? durationMs : size.averageMs + (durationMs - size.averageMs) * 0.1
  }

  /** So many events were settled together. Measured on SQLite: twice what a handler of one insert takes. */
  settled(count: number, durationMs: number): void {
    this.#settleMs += (durationMs / count - this.#settleMs) * 0.1
  }

  /** A statement that has nothing to do in the database was answered: all of it is the way there and back. */
  answered(tripMs: number): void {
    this.#tripMs += (tripMs - this.#tripMs) * 0.1
  }

  #get(topic: Topic): TopicSize {
    let size = this.#sizes.get(topic)
    if (size === undefined) {
      if (this.#sizes.size >= REMEMBERED_MAX) this.#sizes.clear()
      size = { limit: Math.min(START, this.#groupMax), averageMs: 0 }
      this.#sizes.set(topic, size)
    }
    return size
  }
}
