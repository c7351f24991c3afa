/**
 * Which events are new, or have gone on, since the look before: by the lists that every store has, so that it is told
 * of all processes of a fleet, and from every machine. A look costs what one page of a list costs.
 *
 * @module
 */

import type { EventSummary } from '../model/event-summary.ts'
import type { EventFinder } from './event-finder.ts'
import type { EventFilter } from './event-query.ts'

const PAGE = 100
/** So many events between two looks are followed one by one. */
const PAGES_MAX = 10

/** Follows the newest events of a store. What is far behind them is not looked at any more. */
export class EventFollower {
  readonly #list: EventFinder['list']
  readonly #filter: EventFilter
  readonly #states = new Map<string, string>()
  #floor = ''

  constructor(list: EventFinder['list'], filter: EventFilter = {}) {
    this.#list = list
    this.#filter = filter
  }

  /** The newest events, oldest first: where following begins. What is older than them is not told. */
  async begin(last: number): Promise<readonly EventSummary[]> {
    const { events } = await this.#list({ ...this.#filter, limit: last })
    this.#floor = events.at(-1)?.id ?? ''
    return this.#take(events).toReversed()
  }

  /** What is new or has changed since the look before, oldest first. */
  async look(): Promise<readonly EventSummary[]> {
    const found: EventSummary[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const page = await this.#list({
        ...this.#filter,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      })
      found.push(...page.events)
      const oldest = page.events.at(-1)
      if (page.cursor === undefined || oldest === undefined || this.#isBefore(oldest)) break
      if (page.events.some(({ id }) => this.#states.has(id))) break
      cursor = page.cursor
    }
    return this.#take(found).toReversed()
  }

  #isBefore({ id }: EventSummary): boolean {
    return id < this.#floor
  }

  /** Those that were not told so. */
  #take(events: readonly EventSummary[]): EventSummary[] {
    const fresh = events.filter(
      (event) => !this.#isBefore(event) && this.#states.get(event.id) !== stateOf(event),
    )
    for (const event of fresh) this.#states.set(event.id, stateOf(event))
    // What is far behind the newest does not change any more, or is not looked at.
    for (const id of this.#states.keys()) {
      if (this.#states.size <= 2 * PAGES_MAX * PAGE) break
      this.#states.delete(id)
    }
    return fresh
  }
}

function stateOf({ state, run, attempts }: EventSummary): string {
  return `${state} ${run} ${attempts}`
}
