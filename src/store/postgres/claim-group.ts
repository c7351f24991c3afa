import type { ClaimRequest, ClaimedEvent } from '../contract.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import { claimChosenEvents, claimDueEvents, lockSuspects, openGuard } from './sql/claim-group.ts'
import type { Claimed } from './sql/claim-group.ts'
import { begin, beginText, milliseconds } from './transaction.ts'
import type { TransactionSettings } from './transaction.ts'

export interface ClaimedTransaction {
  readonly events: readonly ClaimedEvent[]
  readonly pid: number
  readonly xid: string
}

/** Claims groups, and remembers from where on the queue is worth looking at. */
export class GroupClaimer {
  readonly #suspectLock: string
  readonly #marks = new Map<ClaimRequest['kind'], { lowWaterMs: number; fullScanAt: number }>()

  constructor(suspectLock: string) {
    this.#suspectLock = suspectLock
  }

  /** Leaves the transaction open, or ends it and gives the connection back when nothing was claimed. */
  async claim(
    connection: Connection,
    request: ClaimRequest,
  ): Promise<ClaimedTransaction | undefined> {
    try {
      const events = await this.#claimChosen(connection, request)
      if (events.length > 0) {
        const limits = {
          idleTimeoutMs: milliseconds(request.idleTimeoutMs(events)),
          lockTimeoutMs: milliseconds(request.lockTimeoutMs(events)),
        }
        return { events, ...(await openGuard(connection, request.slot, limits)) }
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
    // A handler may run as long as its own timeout says, whatever the role's default is.
    const settings: TransactionSettings = {
      statementTimeoutMs: 0,
      lockTimeoutMs: 0,
      idleTimeoutMs: CLAIM_IDLE_TIMEOUT_MS,
    }
    await begin(connection, settings)
    if (request.kind === 'suspect' && !(await lockSuspects(connection, this.#suspectLock)))
      return []

    const { events: candidates, hasMore } = await this.#claimDue(connection, request)
    if (candidates.length === 0) return []
    const chosen = request.choose(candidates)
    const isAll = chosen.length === candidates.length && !hasMore
    if (isAll || chosen.length === 0) return chosen

    // Row locks go with their transaction or savepoint. Beginning anew costs the same one round trip as
    // going back to a savepoint, and spares every other group from running inside a subtransaction.
    await connection.run(`rollback; ${beginText(settings)}`)
    return claimChosenEvents(connection, request.slot, chosen)
  }

  async #claimDue(connection: Connection, request: ClaimRequest): Promise<Claimed> {
    const now = performance.now()
    const mark = this.#marks.get(request.kind)
    const isMarkGood = mark !== undefined && now - mark.fullScanAt < FULL_SCAN_EVERY_MS

    if (isMarkGood) {
      const claimed = await claimDueEvents(connection, request, mark.lowWaterMs)
      if (claimed.firstRunAtMs !== undefined) mark.lowWaterMs = markBelow(claimed.firstRunAtMs)
      if (claimed.events.length > 0) return claimed
    }
    const claimed = await claimDueEvents(connection, request, undefined)
    if (claimed.firstRunAtMs === undefined) this.#marks.delete(request.kind)
    else {
      const lowWaterMs = markBelow(claimed.firstRunAtMs)
      this.#marks.set(request.kind, { lowWaterMs, fullScanAt: now })
    }
    return claimed
  }
}

/** Below the first candidate and not the last: most of them may be let go, and are the next ones due. */
function markBelow(firstRunAtMs: number): number {
  return firstRunAtMs - MARK_SLACK_MS
}

/** Until the chosen handlers say how long they may take. */
const CLAIM_IDLE_TIMEOUT_MS = 30_000
/** A row may become visible later than one that is due after it, by as long as its transaction took. */
const MARK_SLACK_MS = 10_000
const FULL_SCAN_EVERY_MS = 5_000
