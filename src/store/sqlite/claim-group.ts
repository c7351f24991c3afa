/**
 * The two transactions of a claim. Why there are two is told in `sql/claim-group.ts`.
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import type { ClaimedEvent } from '../contract/claimed-event.ts'
import type { ClaimRequest } from '../contract/queue.ts'
import type { SqliteGroup } from './group.ts'
import { getOwnProcess } from './process-identity.ts'
import type { RunningLists } from './running-lists.ts'
import { announce } from './sql/announce.ts'
import { isStillClaimable, listCandidates } from './sql/claim-group.ts'
import type { Turn } from './turn.ts'
import type { Writer } from './writer.ts'

export interface ClaimContext {
  readonly writer: Writer
  readonly lists: RunningLists
  readonly waitMs: number
  /** With the turn whose transaction holds the events, or without one for a group that opens late. */
  readonly createGroup: (events: readonly ClaimedEvent[], turn?: Turn) => SqliteGroup
}

/** Returns a group, or `undefined` when nothing is due or the writer is not to be had in time. */
export async function claimGroup(
  context: ClaimContext,
  request: ClaimRequest,
): Promise<SqliteGroup | undefined> {
  const deadline = performance.now() + context.waitMs
  try {
    const turn = await context.writer.acquire(deadline)
    return await claimInTurn(context, request, { turn, deadline })
  } catch (error) {
    // Another slot or another process is at work. There is nothing wrong, and nothing to claim either.
    if (error instanceof StoreUnavailableError && isWaitOver(deadline)) return undefined
    throw error
  }
}

interface Claim {
  readonly turn: Turn
  readonly deadline: number
}

/** The turn is kept by a group that is open, and given back otherwise. */
async function claimInTurn(
  context: ClaimContext,
  request: ClaimRequest,
  claim: Claim,
): Promise<SqliteGroup | undefined> {
  const { turn } = claim
  try {
    const chosen = await listChosen(context, request, claim)
    await context.writer.breaks.take()
    if (chosen.length > 0 && opensLate(request, chosen)) {
      turn.release()
      return context.createGroup(chosen)
    }
    const events = chosen.length > 0 ? await openTransaction(context, request, claim, chosen) : []
    if (events.length > 0) return context.createGroup(events, turn)
    turn.release()
    return undefined
  } catch (error) {
    turn.release()
    throw error
  }
}

function opensLate({ opensLate }: ClaimRequest, events: readonly ClaimedEvent[]): boolean {
  return opensLate === 'always' || (opensLate === 'alone' && events.length === 1)
}

/** The first transaction: chooses from what is due, and writes the slot's list. */
function listChosen(
  { lists }: ClaimContext,
  request: ClaimRequest,
  { turn, deadline }: Claim,
): Promise<readonly ClaimedEvent[]> {
  const { slot } = request
  return turn.transact({ deadline, durable: false }, (connection) => {
    const events = listCandidates(connection, request)
    const running = events.map(({ eventId, attempt }) => ({ eventId, attempt }))
    announce(connection, { slot, running, process: getOwnProcess() })
    lists.written(slot)
    return events
  })
}

/** The second: leaves the transaction open if, and only if, it returns events. */
async function openTransaction(
  { lists }: ClaimContext,
  { slot }: ClaimRequest,
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
  const events = chosen.filter((event) => isStillClaimable(turn.connection, event))
  if (events.length === 0) {
    // None of them will run, and a list that said so would be taken for a crash one day.
    announce(turn.connection, { slot, running: [], process: getOwnProcess() })
    turn.commit()
  }
  return events
}

function isWaitOver(deadline: number): boolean {
  return performance.now() >= deadline
}
