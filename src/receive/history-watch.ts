import type { EventId, Recorded } from '../model/event.ts'
import type { Beat, HistoryPoint } from '../store/contract/events.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'

export interface HistoryWatchContext {
  readonly store: Pick<Store<unknown>, 'events' | 'operators'>
  readonly happenings: HappeningEmitter
  /** Keeps messages from being sent that may have been sent in the history that is lost. */
  readonly pauseSending: (reason: string) => Promise<void>
}

interface Seen {
  readonly at: Date
  readonly history: HistoryPoint
}

interface MissingEvents {
  readonly missing: readonly EventId[]
  readonly checked: number
}

/** What is lost is always what came last, so a few of those tell. */
const LATEST = 10

/**
 * Notices that the database has gone back to an older state of itself: a standby was promoted that did not have
 * everything yet, or a backup was restored. What was acknowledged in between is lost, and what was sent in between is
 * not known to have been sent.
 *
 * A promotion loses nothing when every COMMIT waited for a standby. Otherwise it may have, and it is certain when
 * events are missing that this process has stored. These are looked for after every restart of the server as well.
 * A process that is started later has stored none, and asks the database which history it was in when the time was
 * last written down.
 */
export class HistoryWatch {
  readonly #context: HistoryWatchContext
  #seen: Seen | undefined
  /** What this process has found in the database last. */
  #latest: readonly EventId[] = []

  constructor(context: HistoryWatchContext) {
    this.#context = context
  }

  /**
   * Events were recorded. Kept apart from the memory of keys: that is dropped at every restart, and what is stored
   * between a restart and the beat that notices it must still be looked for at the next.
   */
  recorded(recorded: readonly Recorded[]): void {
    const found = recorded
      .filter(({ status }) => status === 'accepted' || status === 'duplicate')
      .slice(-LATEST)
    this.#latest = [...this.#latest, ...found.map(({ eventId }) => eventId)].slice(-LATEST)
  }

  /** With every beat. Rejects when the database is away; the next beat then finds the same. */
  async check({ history, now }: Beat): Promise<void> {
    if (history === undefined) return
    // What is missing now may have been forgotten or pruned.
    if (this.#seen?.history.drops !== history.drops) this.#latest = []
    if (this.#seen === undefined) await this.#checkKept(history, now)
    else if (isOther(this.#seen.history, history)) await this.#checkSeen(this.#seen, history, now)
    else if (this.#seen.history.startedAt !== history.startedAt)
      await this.#checkRestarted(this.#seen, history, now)
    else if (this.#seen.history.isReplicated !== history.isReplicated) await this.#keep(history)
    this.#seen = { at: now, history }
  }

  /** The first look of this process. */
  async #checkKept(history: HistoryPoint, now: Date): Promise<void> {
    const { kept } = history
    const isKnown = kept?.id === history.id && kept.isReplicated === history.isReplicated
    if (isKnown) return
    const mayLack = kept !== undefined && kept.id !== history.id && !kept.isReplicated
    if (!mayLack) return this.#keep(history)
    const span = { since: kept.lastAt ?? new Date(0), until: now }
    await this.#report(history, span, { missing: [], checked: 0 })
  }

  async #checkSeen(before: Seen, history: HistoryPoint, now: Date): Promise<void> {
    const counts = await this.#countMissing()
    const span = { since: before.at, until: now }
    // Not by what was in the log: what was written there and not committed may be lost without harm.
    if (counts.missing.length > 0 || !before.history.isReplicated)
      await this.#report(history, span, counts)
    else await this.#keep(history)
  }

  /** Most restarts lose nothing. In one that does, the files may have been put back. */
  async #checkRestarted(before: Seen, history: HistoryPoint, now: Date): Promise<void> {
    const counts = await this.#countMissing()
    if (counts.missing.length === 0) return
    await this.#report(history, { since: before.at, until: now }, counts)
  }

  async #countMissing(): Promise<MissingEvents> {
    const latest = this.#latest
    const { operators } = this.#context.store
    const found = await Promise.all(latest.map((eventId) => operators.findEvent(eventId)))
    const missing = latest.filter((_, at) => found[at] === undefined)
    return { missing, checked: latest.length }
  }

  async #report(
    history: HistoryPoint,
    span: { readonly since: Date; readonly until: Date },
    { missing, checked }: MissingEvents,
  ): Promise<void> {
    const since = span.since.toISOString()
    await this.#context.pauseSending(
      `The database was replaced by an older state of itself between ${since} and ${span.until.toISOString()}: messages of that time may have been sent`,
    )
    await this.#keep(history, span)
    // Told once.
    this.#latest = this.#latest.filter((eventId) => !missing.includes(eventId))
    this.#context.happenings.emit('store.went-back', {
      ...span,
      ...{ missing: missing.length, checked },
      hint: `Call inbox.backfill(source, { from, since: new Date('${since}') }) for each source whose sender can be asked, inbox.reconcile for what your own tables lack, and then admin.resume for each destination`,
    })
  }

  /** A database that takes no writes is told of elsewhere. Then the next process that is started finds the same. */
  async #keep({ id, isReplicated, kept }: HistoryPoint, span = kept?.wentBack): Promise<void> {
    const history = { id, isReplicated, ...(span !== undefined && { wentBack: span }) }
    await this.#context.store.events.keepHistory?.(history).catch(() => undefined)
  }
}

function isOther(before: HistoryPoint, history: HistoryPoint): boolean {
  return before.id !== history.id || before.rewinds !== history.rewinds
}
