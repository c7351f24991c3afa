/**
 * The two transactions of a claim. Why there are two is told in `sql/claim-group.ts`.
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import type { ClaimedEvent, ClaimRequest } from '../contract.ts'
import { SqliteGroup } from './group.ts'
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
}

/** Opens a group, or returns `undefined` when nothing is due or the writer is not to be had in time. */
export async function claimGroup(
  context: ClaimContext,
  request: ClaimRequest,
  onEnd: () => void,
): Promise<SqliteGroup | undefined> {
  const deadline = performance.now() + context.waitMs
  try {
    return await claimWithin(context, request, { deadline, onEnd })
  } catch (error) {
    // Another slot or another process is at work. There is nothing wrong, and nothing to claim either.
    if (error instanceof StoreUnavailableError && isWaitOver(deadline)) return undefined
    throw error
  }
}

async function claimWithin(
  { writer, lists }: ClaimContext,
  request: ClaimRequest,
  { deadline, onEnd }: { deadline: number; onEnd: () => void },
): Promise<SqliteGroup | undefined> {
  const turn = await writer.acquire(deadline)
  try {
    const events = await openTransaction(turn, lists, request, deadline)
    if (events.length > 0) {
      const { slot } = request
      const idleTimeoutMs = request.idleTimeoutMs(events)
      return new SqliteGroup({ turn, lists, slot, events, idleTimeoutMs, onEnd })
    }
    turn.release()
    return undefined
  } catch (error) {
    turn.release()
    throw error
  }
}

/** Leaves the transaction open if, and only if, it returns events. */
async function openTransaction(
  turn: Turn,
  lists: RunningLists,
  request: ClaimRequest,
  deadline: number,
): Promise<readonly ClaimedEvent[]> {
  const { slot } = request
  const chosen = await turn.transact({ deadline, durable: false }, (connection) => {
    const candidates = listCandidates(connection, request)
    const events = candidates.length === 0 ? [] : request.choose(candidates)
    const running = events.map(({ eventId, attempt }) => ({ eventId, attempt }))
    announce(connection, { slot, running, process: getOwnProcess() })
    return events
  })
  if (chosen.length === 0) return []

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
