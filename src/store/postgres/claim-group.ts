import type { Topic } from '../../model/topic.ts'
import type { ClaimRequest } from '../contract/queue.ts'
import type { ClaimedEvent } from '../contract/claimed-event.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import { claimBehind } from './sql/claim-behind.ts'
import { claimDue, openFence, readClaimed } from './sql/claim-group.ts'
import type { Claimed } from './sql/claim-group.ts'
import { PostgresGroup } from './group.ts'
import type { HeldTransactions } from './held-transactions.ts'
import type { SessionWatch } from './session-watch.ts'
import type { Statement } from './statement-batch.ts'
import { StatementNames } from './statement-names.ts'
import { asStoreError } from './store-error.ts'
import { milliseconds } from './transaction.ts'
import type { TransactionSettings } from './transaction.ts'

/**
 * Where claims of a kind and topic begin to look. Another thing than the positions of messages
 * (`low-water-positions.ts`): a claim that finds nothing looks at once from the beginning, in the same transaction, and
 * so begins there less often in other cases. It also keeps a time of the database's own, to the microsecond.
 */
interface ClaimPosition {
  /** Nothing is due below it, in microseconds since 1970. */
  low: number
  readonly foundAt: number
}

/** Where a claim begins to look at a topic; without `at`, at its first event. */
interface Start {
  readonly topic: Topic
  readonly at: number | undefined
}

/** Claims groups, and remembers from where on the queue is worth looking at. */
export class GroupClaimer {
  readonly #held: HeldTransactions
  readonly #suspectLock: string
  readonly #names = new StatementNames()
  readonly #positions = new Map<string, ClaimPosition>()

  constructor(held: HeldTransactions, suspectLock: string) {
    this.#held = held
    this.#suspectLock = suspectLock
  }

  async claim(request: ClaimRequest): Promise<PostgresGroup | undefined> {
    const connection = await this.#held.checkOut()
    try {
      const { events: heads, watch } = await this.#claimEvents(connection, request)
      if (heads.length > 0) {
        const events = [...heads, ...(await fillLanes(connection, request, heads))]
        const isAlone = events.length === 1
        const limits = {
          idleTimeoutMs: milliseconds(request.idleTimeoutMs),
          // One that runs alone holds up no other: it waits for a lock as long as its own time allows.
          lockTimeoutMs: isAlone ? 0 : milliseconds(request.lockTimeoutMs),
        }
        const { pid, xid } = await openFence(connection, request.slot, limits)
        const names = connection.client.processID === pid ? this.#names : undefined
        const held = this.#held.hold({ connection, pid, xid, watch, names, isAlone })
        return new PostgresGroup(events, held)
      }
    } catch (error) {
      await rollBack(connection)
      throw asStoreError(error)
    }
    await rollBack(connection)
    return undefined
  }

  /** The first try is in the round trip that begins the transaction. */
  async #claimEvents(
    connection: Connection,
    request: ClaimRequest,
  ): Promise<{ readonly events: readonly ClaimedEvent[]; readonly watch: SessionWatch }> {
    let attempt = this.#start(request)
    const { watch, opened } = await this.#held.watcher.begin(
      connection,
      SETTINGS,
      attempt.statement,
    )
    for (let answer = opened; ;) {
      const claimed = readClaimed(request, answer?.rows ?? [])
      for (const start of attempt.starts) this.#noteClaim(request.kind, { ...start, claimed })
      // Something may be due below the positions. Without any position there is nothing.
      const hadPositions = attempt.starts.some(({ at }) => at !== undefined)
      if (claimed.length > 0 || !hadPositions)
        return { events: claimed.map(({ event }) => event), watch }
      attempt = this.#start(request)
      const [again] = await connection.runTogether([attempt.statement])
      answer = again
    }
  }

  #start(request: ClaimRequest): { starts: readonly Start[]; statement: Statement } {
    const starts = request.topics.map(({ topic }) => this.#findStart(request.kind, topic))
    const lowWaters = starts.map(({ at }) => at)
    const statement = claimDue(request, { lowWaters, suspectLock: this.#suspectLock })
    return { starts, statement }
  }

  #findStart(kind: ClaimRequest['kind'], topic: Topic): Start {
    const position = this.#positions.get(nameOf(kind, topic))
    const isGood =
      position !== undefined && performance.now() - position.foundAt < FULL_SCAN_EVERY_MS
    return { topic, at: isGood ? position.low : undefined }
  }

  #noteClaim(
    kind: ClaimRequest['kind'],
    { topic, at, claimed }: Start & { claimed: readonly Claimed[] },
  ): void {
    const name = nameOf(kind, topic)
    const first = claimed.find(({ event }) => event.topic === topic)
    if (first === undefined) {
      // A topic that was not asked, because others had enough, keeps its position.
      if (claimed.length === 0) this.#positions.delete(name)
      return
    }
    const low = first.runAt - POSITION_SLACK_US
    const position = this.#positions.get(name)
    if (position !== undefined && at !== undefined) {
      position.low = low
      return
    }
    if (this.#positions.size >= POSITIONS_MAX) this.#positions.clear()
    this.#positions.set(name, { low, foundAt: performance.now() })
  }
}

/** What is next behind the heads, where they leave room. */
async function fillLanes(
  connection: Connection,
  { slot, kind, topics, fillsLanes }: ClaimRequest,
  heads: readonly ClaimedEvent[],
): Promise<readonly ClaimedEvent[]> {
  const room = (topics[0]?.limit ?? 0) - heads.length
  const isWanted = kind === 'head' && fillsLanes && heads.some(({ lane }) => lane?.mode === 'fifo')
  return isWanted && room > 0 ? claimBehind(connection, slot, heads, room) : []
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
const POSITION_SLACK_US = 10_000_000
const FULL_SCAN_EVERY_MS = 5_000
/** Topics come and go; forgetting a position costs one claim that looks from the beginning. */
const POSITIONS_MAX = 10_000
