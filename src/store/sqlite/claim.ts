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
import type { Release, Writer } from './writer.ts'

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
  const { writer, lists, waitMs } = context
  const deadline = performance.now() + waitMs
  let release: Release | undefined
  try {
    release = await writer.acquire(deadline)
    const events = await openTransaction(context, request, deadline)
    if (events.length === 0) {
      release()
      return undefined
    }
    const { slot } = request
    const { idleTimeoutMs } = request
    return new SqliteGroup({
      writer,
      lists,
      slot,
      events,
      idleTimeoutMs,
      release: endWith(release, onEnd),
    })
  } catch (error) {
    writer.rollback()
    release?.()
    // Another process is at work. There is nothing wrong, and nothing to claim either.
    if (error instanceof StoreUnavailableError && isWaitOver(deadline)) return undefined
    throw error
  }
}

/** Leaves the transaction open if, and only if, it returns events. */
async function openTransaction(
  { writer, lists }: ClaimContext,
  request: ClaimRequest,
  deadline: number,
): Promise<readonly ClaimedEvent[]> {
  const { slot } = request
  const chosen = await writer.transactHeld({ deadline, durable: false }, (connection) => {
    const events = listCandidates(connection, request)
    const running = events.map(({ eventId, attempt }) => ({ eventId, attempt }))
    announce(connection, { slot, running, process: getOwnProcess() })
    return events
  })
  if (chosen.length === 0) return []

  try {
    await writer.begin(deadline)
  } catch (error) {
    // Another process came between the two. None of the listed events will run.
    lists.emptyLater(slot)
    throw error
  }
  const events = chosen.filter((event) => isStillClaimable(writer.connection, event))
  if (events.length === 0) {
    // None of them will run, and a list that said so would be taken for a crash one day.
    announce(writer.connection, { slot, running: [], process: getOwnProcess() })
    writer.commit()
  }
  return events
}

function isWaitOver(deadline: number): boolean {
  return performance.now() >= deadline
}

function endWith(release: Release, onEnd: () => void): Release {
  return () => {
    onEnd()
    release()
  }
}
