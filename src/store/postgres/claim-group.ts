import type { Topic } from '../../model/topic.ts'
import type { ClaimRequest, ClaimedEvent } from '../contract/store.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import { claimDueEvents, lockSuspects, openGuard } from './sql/claim-group.ts'
import type { Claimed } from './sql/claim-group.ts'
import type { SessionWatch, SessionWatcher } from './session-watch.ts'
import { milliseconds } from './transaction.ts'
import type { TransactionSettings } from './transaction.ts'

export interface ClaimedTransaction {
  readonly events: readonly ClaimedEvent[]
  readonly pid: number
  readonly xid: string
  readonly watch: SessionWatch
}

/** Where claims of a kind and topic begin to look, in microseconds since 1970. */
interface Marks {
  /** Nothing is due below it. */
  low: number
  lowFoundAt: number
  /** What is between the two was claimed by this process a moment ago. */
  ahead: number | undefined
  lookedBackAt: number
}

/** Where a claim begins to look at a topic; without `at`, at its first event. */
interface Start {
  readonly topic: Topic
  readonly at: number | undefined
  readonly isAhead: boolean
}

/** Claims groups, and remembers from where on the queue is worth looking at. */
export class GroupClaimer {
  readonly #suspectLock: string
  readonly #watcher: SessionWatcher
  readonly #marks = new Map<string, Marks>()

  constructor(suspectLock: string, watcher: SessionWatcher) {
    this.#suspectLock = suspectLock
    this.#watcher = watcher
  }

  /** Leaves the transaction open, or ends it and gives the connection back when nothing was claimed. */
  async claim(
    connection: Connection,
    request: ClaimRequest,
  ): Promise<ClaimedTransaction | undefined> {
    try {
      const { watch } = await this.#watcher.begin(connection, SETTINGS)
      const events = await this.#claimEvents(connection, request)
      if (events.length > 0) {
        const limits = {
          idleTimeoutMs: milliseconds(request.idleTimeoutMs),
          // One that runs alone holds up no other: it waits for a lock as long as its own time allows.
          lockTimeoutMs: events.length > 1 ? milliseconds(request.lockTimeoutMs) : 0,
        }
        return { events, watch, ...(await openGuard(connection, request.slot, limits)) }
      }
    } catch (error) {
      await rollBack(connection)
      throw error
    }
    await rollBack(connection)
    return undefined
  }

  async #claimEvents(
    connection: Connection,
    request: ClaimRequest,
  ): Promise<readonly ClaimedEvent[]> {
    if (request.kind === 'suspect' && !(await lockSuspects(connection, this.#suspectLock)))
      return []

    for (;;) {
      const now = performance.now()
      const starts = request.topics.map(({ topic }) => this.#findStart(request.kind, topic, now))
      const lowWaters = starts.map(({ at }) => at)
      const claimed = await claimDueEvents(connection, request, lowWaters)
      for (const start of starts) this.#noteClaim(request.kind, { ...start, claimed, now })
      // Something may be due below the low-water positions. Without any position there is nothing.
      const hadMarks = lowWaters.some((at) => at !== undefined)
      if (claimed.length > 0 || !hadMarks) return claimed.map(({ event }) => event)
    }
  }

  #findStart(kind: ClaimRequest['kind'], topic: Topic, now: number): Start {
    const marks = this.#marks.get(nameOf(kind, topic))
    if (marks === undefined) return { topic, at: undefined, isAhead: false }
    if (marks.ahead !== undefined && now - marks.lookedBackAt < LOOK_BACK_EVERY_MS)
      return { topic, at: marks.ahead, isAhead: true }
    const isKnown = now - marks.lowFoundAt < FULL_SCAN_EVERY_MS
    return { topic, at: isKnown ? marks.low : undefined, isAhead: false }
  }

  #noteClaim(
    kind: ClaimRequest['kind'],
    { topic, at, isAhead, claimed, now }: Start & { claimed: readonly Claimed[]; now: number },
  ): void {
    const name = nameOf(kind, topic)
    const marks = this.#marks.get(name)
    const ofTopic = claimed.filter(({ event }) => event.topic === topic)
    const first = ofTopic[0]?.runAt
    const last = ofTopic.at(-1)?.runAt
    if (first === undefined || last === undefined) {
      // A topic that was not asked, because others had enough, keeps its positions.
      if (claimed.length > 0 || marks === undefined) return
      if (isAhead) marks.ahead = undefined
      else this.#marks.delete(name)
      return
    }
    const ahead = kind === 'fresh' ? last : undefined
    if (marks === undefined || at === undefined) {
      if (this.#marks.size >= MARKS_MAX) this.#marks.clear()
      this.#marks.set(name, {
        low: first - MARK_SLACK_US,
        lowFoundAt: now,
        ahead,
        lookedBackAt: now,
      })
      return
    }
    if (!isAhead) {
      marks.low = first - MARK_SLACK_US
      marks.lookedBackAt = now
    }
    marks.ahead = ahead
  }
}

function nameOf(kind: ClaimRequest['kind'], topic: Topic): string {
  return `${kind} ${topic}`
}

/** A handler may run as long as its own timeout says, whatever the role's default is. */
const SETTINGS: TransactionSettings = {
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
  /** Until the claimed handlers say how long they may take. */
  idleTimeoutMs: 30_000,
}
/** A row may become visible later than one that is due after it, by as long as its transaction took. */
const MARK_SLACK_US = 10_000_000
const FULL_SCAN_EVERY_MS = 5_000
/**
 * Between two looks at what is behind, claims begin where the last one ended: what is before that is locked by
 * the other groups of this process or has just been deleted, and each claim would walk over all of it.
 */
const LOOK_BACK_EVERY_MS = 50
/** Topics come and go; forgetting a position costs one claim that looks from the beginning. */
const MARKS_MAX = 10_000
