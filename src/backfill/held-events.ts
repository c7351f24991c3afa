import type { BackfillEvent } from './backfill-client.ts'

/**
 * What was listed and is missing, until it is taken in: the oldest first, since most senders list the newest first, and
 * a lane would be run backwards.
 */
export class HeldEvents {
  readonly #events = new Map<string, BackfillEvent>()

  get size(): number {
    return this.#events.size
  }

  add(event: BackfillEvent): void {
    this.#events.set(event.key, event)
  }

  /** Another try of an event: it counts from its first one. */
  addTry({ key, occurredAt }: BackfillEvent): void {
    const held = this.#events.get(key)
    if (held?.occurredAt === undefined || occurredAt === undefined) return
    if (occurredAt < held.occurredAt) this.#events.set(key, { ...held, occurredAt })
  }

  /** All of them, which are then held no more. */
  takeOldestFirst(): readonly BackfillEvent[] {
    const listed = [...this.#events.values()]
    this.#events.clear()
    const [first, last] = [listed.find(hasTime), listed.findLast(hasTime)]
    // Of several with one time, those that were listed last are the oldest, unless the list goes the other way.
    const isOldestFirst = first !== undefined && last !== undefined && timeOf(first) < timeOf(last)
    if (!isOldestFirst) listed.reverse()
    let time = -Infinity
    const dated = listed.map((event) => {
      // One without a time keeps its place beside the one before it.
      if (hasTime(event)) time = timeOf(event)
      return { event, time }
    })
    return dated.sort((one, other) => compare(one.time, other.time)).map(({ event }) => event)
  }
}

function hasTime({ occurredAt }: BackfillEvent): boolean {
  return occurredAt !== undefined
}

function timeOf({ occurredAt }: BackfillEvent): number {
  return occurredAt?.getTime() ?? -Infinity
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other
}
