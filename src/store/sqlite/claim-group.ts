/**
 * The two transactions of a claim. Why there are two is told in `sql/claim-group.ts`.
 *
 * @module
 */

import { keepInOrder } from '../../ordering/keep-in-order.ts'
import type { ClaimedEvent } from '../contract/claimed-event.ts'
import type { ClaimRequest } from '../contract/queue.ts'
import type { WorkerSlot } from '../contract/workers.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import type { SqliteGroup } from './group.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { getOwnProcess } from './process-identity.ts'
import type { RunningLists } from './running-lists.ts'
import { announce } from './sql/announce.ts'
import { listBehind } from './sql/claim-behind.ts'
import { hasCandidates, isStillClaimable, listCandidates } from './sql/claim-group.ts'
import { WriterBusyError } from './turn.ts'
import type { Turn } from './turn.ts'

export class GroupClaimer {
  readonly #connections: Connections
  readonly #held: HeldTransactions

  constructor(connections: Connections, held: HeldTransactions) {
    this.#connections = connections
    this.#held = held
  }

  /** `undefined` when nothing is due, or the writer is not to be had in time. */
  async claim(request: ClaimRequest): Promise<SqliteGroup | undefined> {
    if (!(await this.#connections.read((reader) => hasCandidates(reader, request))))
      return undefined
    const { writer, deadline } = this.#connections.getWriter()
    try {
      const turn = await writer.acquire(deadline, () => this.#findSlowMs(request))
      return await this.#claimInTurn(request, { turn, deadline })
    } catch (error) {
      // Another slot or another process is at work. There is nothing wrong, and nothing to claim either.
      if (error instanceof WriterBusyError) return undefined
      throw error
    }
  }

  /** A claim of which the group opens late takes no longer than any other. */
  #findSlowMs({ topics, opensLate }: ClaimRequest): number {
    const isAlone = topics.length === 1 && topics[0]?.limit === 1
    if (opensLate === 'always' || (opensLate === 'alone' && isAlone)) return 0
    return this.#held.findSlowMs(topics.map(({ topic }) => topic))
  }

  /** The turn is kept by a group that is open, and given back otherwise. */
  async #claimInTurn(request: ClaimRequest, claim: Claim): Promise<SqliteGroup | undefined> {
    const { writer, lists } = this.#connections.getOpen()
    const { slot, idleTimeoutMs } = request
    const { turn } = claim
    try {
      const chosen = await listChosen(lists, request, claim)
      await writer.breaks.take()
      if (chosen.length > 0 && opensLate(request, chosen)) {
        turn.giveBack()
        return this.#held.holdGroup({ writer, lists, slot, events: chosen, idleTimeoutMs })
      }
      const events = chosen.length > 0 ? await openTransaction(lists, slot, claim, chosen) : []
      if (events.length > 0)
        return this.#held.holdGroup({ writer, lists, slot, events, idleTimeoutMs }, turn)
      turn.giveBack()
      return undefined
    } catch (error) {
      turn.giveBack()
      throw error
    }
  }
}

interface Claim {
  readonly turn: Turn
  readonly deadline: number
}

function opensLate({ opensLate }: ClaimRequest, events: readonly ClaimedEvent[]): boolean {
  return opensLate === 'always' || (opensLate === 'alone' && events.length === 1)
}

/** The first transaction: chooses from what is due, and writes the slot's list. */
function listChosen(
  lists: RunningLists,
  request: ClaimRequest,
  { turn, deadline }: Claim,
): Promise<readonly ClaimedEvent[]> {
  const { slot } = request
  return turn.transact({ deadline, durable: false }, (connection) => {
    const heads = listCandidates(connection, request)
    const events = [...heads, ...fillLanes(connection, request, heads)]
    const running = events.map(({ eventId, attempt }) => ({ eventId, attempt }))
    announce(connection, { slot, running, process: getOwnProcess() })
    lists.written(slot)
    return events
  })
}

/** What is next behind the heads, where they leave room. */
function fillLanes(
  connection: Connection,
  { slot, kind, topics, fillsLanes }: ClaimRequest,
  heads: readonly ClaimedEvent[],
): readonly ClaimedEvent[] {
  const room = (topics[0]?.limit ?? 0) - heads.length
  return kind === 'head' && fillsLanes && room > 0 ? listBehind(connection, slot, heads, room) : []
}

/** The second: leaves the transaction open if, and only if, it returns events. */
async function openTransaction(
  lists: RunningLists,
  slot: WorkerSlot,
  { turn, deadline }: Claim,
  chosen: readonly ClaimedEvent[],
): Promise<readonly ClaimedEvent[]> {
  try {
    await turn.begin(deadline)
  } catch (error) {
    // Another process came between the two. None of the listed events will run.
    lists.emptyLater(slot)
    throw error
  }
  const events = keepInOrder(chosen, (event) => isStillClaimable(turn.connection, event))
  if (events.length === 0) {
    // None of them will run, and a list that said so would be taken for a crash one day.
    announce(turn.connection, { slot, running: [], process: getOwnProcess() })
    turn.commit()
  }
  return events
}
