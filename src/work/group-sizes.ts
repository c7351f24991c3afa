/**
 * How many events of a handler share a transaction.
 *
 * Grouping is what makes running fast: one commit for many events. But a group holds its locks until it
 * commits, so on rows that many events share, groups wait for and deadlock with each other (measured:
 * fixed groups of 50 on shared rows fell to 120 events/s). So each unit of handlers finds its own size:
 * contention halves it, success lets it grow, and there are never more than fit into the group's time, so
 * that a slow handler is not grouped at all.
 *
 * @module
 */

import type { ClaimedEvent } from '../store/contract.ts'
import type { HandlerUnit } from './handlers.ts'

/** Where a unit starts: large enough to pay, small enough to be rerun without regret. */
const START = 50

interface UnitSize {
  limit: number
  /** A moving average of how long one event takes. */
  averageMs: number
}

export class GroupSizes {
  readonly #groupMax: number
  readonly #groupBudgetMs: number
  readonly #sizes = new Map<string, UnitSize>()
  readonly #alone = new Set<string>()
  /** A moving average of how long one event takes to be settled, of whatever unit. */
  #settleMs = 0

  constructor({ groupMax, groupBudgetMs }: { groupMax: number; groupBudgetMs: number }) {
    this.#groupMax = groupMax
    this.#groupBudgetMs = groupBudgetMs
  }

  limitFor(unit: HandlerUnit): number {
    // They leave the group's transaction at once.
    if (unit.isSteps) return this.#groupMax
    const ceiling = Math.min(unit.groupMax, this.#groupMax)
    // Nothing is rolled back or locked for these, so neither slowness nor contention matters.
    if (unit.guarantee === 'at-least-once') return ceiling
    if (this.#alone.has(unit.name)) return 1
    const size = this.#sizes.get(unit.name)
    if (size === undefined) return Math.min(START, ceiling)
    return Math.min(Math.max(1, Math.floor(this.#current(size))), ceiling)
  }

  /**
   * By the budget rather than a fixed mark for "slow": a busy machine makes every handler slow, and
   * without groups it would only get busier.
   */
  #current({ limit, averageMs }: UnitSize): number {
    if (averageMs === 0) return limit
    return Math.min(limit, this.#groupBudgetMs / (averageMs + this.#settleMs))
  }

  /** Whether the group's time is over: what it has spent, and what settling its events will take. */
  isOver(spentMs: number, count: number): boolean {
    return spentMs + count * this.#settleMs > this.#groupBudgetMs
  }

  /** How many events a claim should ask for, given what has been seen so far. */
  claimLimit(): number {
    if (this.#sizes.size === 0) return Math.min(START, this.#groupMax)
    // No more than some unit may have: what is claimed beyond it is only let go of again.
    let limit = 1
    for (const size of this.#sizes.values())
      limit = Math.max(limit, Math.floor(this.#current(size)))
    return Math.min(limit, this.#groupMax)
  }

  /** A group that held `count` events of this unit committed. */
  succeeded(unit: HandlerUnit, count: number): void {
    const size = this.#get(unit)
    // Only a group that was as large as allowed says that a larger one would do.
    if (count >= Math.floor(this.#current(size)))
      size.limit = Math.min(size.limit * 1.25 + 1, this.#groupMax)
  }

  /** A group met a lock time-out or a deadlock in this unit. */
  contended(unit: HandlerUnit): void {
    const size = this.#get(unit)
    size.limit = Math.max(1, size.limit / 2)
  }

  /** The unit changes settings of its transaction, which must not reach other events. */
  neverGroup(unit: HandlerUnit): void {
    this.#alone.add(unit.name)
  }

  measured(unit: HandlerUnit, durationMs: number): void {
    const size = this.#get(unit)
    size.averageMs += (durationMs - size.averageMs) * 0.1
  }

  /** So many events were settled together. Measured on SQLite: twice what a handler of one insert takes. */
  settled(count: number, durationMs: number): void {
    this.#settleMs += (durationMs / count - this.#settleMs) * 0.1
  }

  #get(unit: HandlerUnit): UnitSize {
    let size = this.#sizes.get(unit.name)
    if (size === undefined) {
      size = { limit: Math.min(START, this.#groupMax), averageMs: 0 }
      this.#sizes.set(unit.name, size)
    }
    return size
  }
}

/**
 * Picks from the candidates, oldest first, what runs together.
 *
 * The oldest decides: if its unit runs alone, it is the whole group, so nothing overtakes it for ever.
 * Else everything groupable of the same kind joins, each unit up to its own size. Events of step handlers
 * are a group only to be leased, and nothing else is in it.
 */
export function chooseGroup(
  candidates: readonly ClaimedEvent[],
  { sizes, findUnit, runsAlone }: ChooseContext,
): readonly ClaimedEvent[] {
  const head = candidates[0]
  if (head === undefined) return []
  const headUnit = findUnit(head)
  const isAlone = headUnit !== undefined && !headUnit.isSteps && sizes.limitFor(headUnit) === 1
  if (runsAlone(head) || isAlone) return [head]

  const counts = new Map<string, number>()
  return candidates.filter((candidate) => {
    const unit = findUnit(candidate)
    // An event without handlers is only parked: it fits into any group that settles.
    if (unit === undefined) return headUnit?.isSteps !== true
    if (unit.isSteps !== (headUnit?.isSteps ?? false)) return false
    if (unit.isSteps) return true
    if (headUnit !== undefined && unit.guarantee !== headUnit.guarantee) return false
    if (headUnit === undefined && unit.guarantee === 'at-least-once') return false
    if (runsAlone(candidate)) return false
    const count = counts.get(unit.name) ?? 0
    const limit = sizes.limitFor(unit)
    if (limit === 1 || count >= limit) return false
    counts.set(unit.name, count + 1)
    return true
  })
}

export interface ChooseContext {
  readonly sizes: GroupSizes
  readonly findUnit: (event: ClaimedEvent) => HandlerUnit | undefined
  /** Events whose group was refused at COMMIT: alone they show which of them it is. */
  readonly runsAlone: (event: ClaimedEvent) => boolean
}
