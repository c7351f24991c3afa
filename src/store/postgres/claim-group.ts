import type { ClaimRequest, ClaimedEvent } from '../contract.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import { claimChosenEvents, claimDueEvents, lockSuspects, openGuard } from './sql/claim-group.ts'
import type { Claimed } from './sql/claim-group.ts'
import type { SessionWatch, SessionWatcher } from './session-watch.ts'
import { beginText, milliseconds } from './transaction.ts'
import type { TransactionSettings } from './transaction.ts'

export interface ClaimedTransaction {
  readonly events: readonly ClaimedEvent[]
  readonly pid: number
  readonly xid: string
  readonly watch: SessionWatch
}

/** Where a kind of claim begins to look, in microseconds since 1970. */
interface Marks {
  /** Nothing is due below it. */
  low: number
  lowFoundAt: number
  /** What is between the two was claimed by this process a moment ago. */
  ahead: number | undefined
  lookedBackAt: number
}

/** Claims groups, and remembers from where on the queue is worth looking at. */
export class GroupClaimer {
  readonly #suspectLock: string
  readonly #watcher: SessionWatcher
  readonly #marks = new Map<ClaimRequest['kind'], Marks>()

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
      const events = await this.#claimChosen(connection, request)
      if (events.length > 0) {
        const limits = {
          idleTimeoutMs: milliseconds(request.idleTimeoutMs(events)),
          lockTimeoutMs: milliseconds(request.lockTimeoutMs(events)),
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

  async #claimChosen(
    connection: Connection,
    request: ClaimRequest,
  ): Promise<readonly ClaimedEvent[]> {
    if (request.kind === 'suspect' && !(await lockSuspects(connection, this.#suspectLock)))
      return []

    const { events: candidates, runAts, hasMore } = await this.#claimDue(connection, request)
    if (candidates.length === 0) return []
    const chosen = request.choose(candidates)
    const isAll = chosen.length === candidates.length && !hasMore
    const marks = this.#marks.get(request.kind)
    // What is let go of is the oldest that is due, and nothing shall overtake it.
    if (marks !== undefined && request.kind === 'fresh')
      marks.ahead = isAll ? runAts.at(-1) : undefined
    if (isAll || chosen.length === 0) return chosen

    // Row locks go with their transaction or savepoint. Beginning anew costs the same one round trip as
    // going back to a savepoint, and spares every other group from running inside a subtransaction.
    await connection.run(`rollback; ${beginText(SETTINGS)}`)
    return claimChosenEvents(connection, request.slot, chosen)
  }

  async #claimDue(connection: Connection, request: ClaimRequest): Promise<Claimed> {
    const now = performance.now()
    const marks = this.#marks.get(request.kind)

    if (marks?.ahead !== undefined && now - marks.lookedBackAt < LOOK_BACK_EVERY_MS) {
      const claimed = await claimDueEvents(connection, request, marks.ahead)
      if (claimed.events.length > 0) return claimed
      marks.ahead = undefined
    }
    if (marks !== undefined && now - marks.lowFoundAt < FULL_SCAN_EVERY_MS) {
      const claimed = await claimDueEvents(connection, request, marks.low)
      const [first] = claimed.runAts
      if (first !== undefined) {
        marks.low = first - MARK_SLACK_US
        marks.lookedBackAt = now
        return claimed
      }
    }
    const claimed = await claimDueEvents(connection, request, undefined)
    const [first] = claimed.runAts
    if (first === undefined) this.#marks.delete(request.kind)
    else {
      // Below the first and not the last: most of them may be let go, and are the next ones due.
      const low = first - MARK_SLACK_US
      this.#marks.set(request.kind, { low, lowFoundAt: now, ahead: undefined, lookedBackAt: now })
    }
    return claimed
  }
}

/** A handler may run as long as its own timeout says, whatever the role's default is. */
const SETTINGS: TransactionSettings = {
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
  /** Until the chosen handlers say how long they may take. */
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
