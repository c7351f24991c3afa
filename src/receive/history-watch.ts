import type { EventId } from '../model/event.ts'
import type { Beat, HistoryPoint } from '../store/contract/events.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'

export interface HistoryWatchContext {
  readonly store: Pick<Store<unknown>, 'operators'>
  readonly happenings: HappeningEmitter
  /** Keeps messages from being sent that may have been sent in the history that is lost. */
  readonly pauseSending: (reason: string) => Promise<void>
}

interface Seen {
  readonly at: Date
  readonly history: HistoryPoint
}

/**
 * Notices that the database has gone back to an older state of itself: a standby was promoted that did not have
 * everything yet, or a backup was restored. What was acknowledged in between is lost, and what was sent in between is
 * not known to have been sent.
 *
 * A promotion loses nothing when every COMMIT waited for a standby. Otherwise it may have, and it is certain when
 * events are missing that this process has stored.
 */
export class HistoryWatch {
  readonly #context: HistoryWatchContext
  #seen: Seen | undefined

  constructor(context: HistoryWatchContext) {
    this.#context = context
  }

  /**
   * With every beat, and the events that this process stored last. Rejects when the database is away; the next
   * beat then finds the same.
   */
  async check({ history, now }: Beat, latest: readonly EventId[]): Promise<void> {
    if (history === undefined) return
    const before = this.#seen
    if (before !== undefined && before.history.id !== history.id) {
      const missing = await this.#countMissing(latest)
      // Not by the position in the log: what was written there and not committed may be lost without harm.
      if (missing > 0 || !before.history.isReplicated)
        await this.#report(before.at, now, { missing, checked: latest.length })
    }
    this.#seen = { at: now, history }
  }

  async #countMissing(latest: readonly EventId[]): Promise<number> {
    const found = await Promise.all(
      latest.map((eventId) => this.#context.store.operators.findEvent(eventId)),
    )
    return found.filter((event) => event === undefined).length
  }

  async #report(
    since: Date,
    until: Date,
    counts: { readonly missing: number; readonly checked: number },
  ): Promise<void> {
    const span = `${since.toISOString()} and ${until.toISOString()}`
    await this.#context.pauseSending(
      `The database was replaced by an older state of itself between ${span}: messages of that time may have been sent`,
    )
    this.#context.happenings.emit('store.went-back', { since, until, ...counts })
  }
}
