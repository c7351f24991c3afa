import type { EventId } from '../model/event.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import type { Agenda } from './agenda.ts'
import type { HandlerUnit } from './handler-unit.ts'
import { sortLanes } from './sort-lanes.ts'
import type { SortContext, Sorted } from './sort-lanes.ts'

export interface LaneWorkContext extends SortContext {
  readonly agenda: () => Pick<Agenda, 'add' | 'lookSoon'>
  readonly findUnit: (event: ClaimedEvent) => HandlerUnit | undefined
  /** There may be something to run. */
  readonly onFound: () => void
}

/** What a worker does about lanes: it sorts events into them, and tells its slots which may go on. */
export class LaneWork {
  readonly #context: LaneWorkContext
  /** The sources that are being sorted. */
  readonly #sorting = new Set<string>()

  constructor(context: LaneWorkContext) {
    this.#context = context
  }

  /** Which events of the source were sorted; `undefined` when this or another worker is at it. */
  async sort(
    source: string,
    also: readonly EventId[] = [],
  ): Promise<readonly ClaimedEvent[] | undefined> {
    return (await this.#sort(source, also))?.events
  }

  /** Sorts until nothing is left of what there was. `false` when this or another worker is at it. */
  async sortAll(source: string): Promise<boolean> {
    let sorted
    do sorted = await this.#sort(source, [])
    while (sorted?.isAll === false)
    return sorted !== undefined
  }

  async #sort(source: string, also: readonly EventId[]): Promise<Sorted | undefined> {
    // Two of one process would read the same events, and ask for their places twice.
    if (this.#sorting.has(source)) return undefined
    this.#sorting.add(source)
    try {
      const sorted = await sortLanes(this.#context, source, also)
      if (sorted !== undefined && sorted.events.length > 0) this.#addHeads(sorted.events)
      return sorted
    } finally {
      this.#sorting.delete(source)
    }
  }

  /** Whether it was tried before its handler had an order. */
  isUnsorted(event: ClaimedEvent): boolean {
    return event.lane === undefined && this.#context.findUnit(event)?.order !== undefined
  }

  /** Of events that were claimed and given back, all of one source. */
  async sortTried(events: readonly ClaimedEvent[]): Promise<'settled' | 'abandoned'> {
    const ids = events.map(({ eventId }) => eventId)
    const sorted = await this.sort(events[0]?.source ?? '', ids)
    return sorted === undefined ? 'abandoned' : 'settled'
  }

  /** These have run: the next event of each lane may be ready, and may be of another type. */
  moved(events: readonly ClaimedEvent[]): void {
    const inLanes = events.filter(({ lane }) => lane !== undefined)
    if (inLanes.length === 0) return
    this.#context.agenda().lookSoon()
    this.#addHeads(inLanes)
  }

  #addHeads(events: readonly ClaimedEvent[]): void {
    const agenda = this.#context.agenda()
    for (const { topic, source, type } of events) agenda.add({ kind: 'head', topic, source, type })
    this.#context.onFound()
  }
}
