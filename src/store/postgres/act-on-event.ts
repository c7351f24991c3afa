/**
 * An operator's action on an event: lock, look, decide, change, and write down what was done, in one transaction.
 *
 * @module
 */

import type { RefusalCode } from '../../model/event-action.ts'
import type { Acted, ActionRequest } from '../contract/operators.ts'
import { AS_IT_CAME, decideAction, refusalIn } from '../shared/decide-action.ts'
import type { Standing } from '../shared/decide-action.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { findByToken, TokenTaken, writeAudit } from './sql/audit.ts'
import { discardEvent, lockLanesOf } from './sql/discard-event.ts'
import { eraseEvent } from './sql/erase-event.ts'
import { lockEvent, readStanding } from './sql/event-standing.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { releaseEvent } from './sql/release-event.ts'
import { replayEvent } from './sql/replay-event.ts'
import { retryEvent } from './sql/retry-event.ts'
import { takeKey } from './sql/take-key.ts'
import { findStateBehind } from './store-error.ts'

const LOCK_TIMEOUT = '55P03'

export async function actOnEvent(connections: Connections, request: ActionRequest): Promise<Acted> {
  if (!isEventId(request.eventId)) return { status: 'refused', code: 'EVENT_UNKNOWN' }
  return atMostOnce(() =>
    connections.transact((connection) => actWithin(connection, request)),
  ).catch((error: unknown) => {
    // A worker holds the event, and will for as long as its handler runs.
    if (findStateBehind(error) === LOCK_TIMEOUT)
      return { status: 'refused', code: 'EVENT_RUNNING' } as const
    throw error
  })
}

/** Where another call was faster with the same token, the second try finds what that one did. */
export async function atMostOnce<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof Error && error.cause instanceof TokenTaken) return attempt()
    throw error
  }
}

/** The same, in a transaction of the caller. */
export async function actWithin(connection: Connection, request: ActionRequest): Promise<Acted> {
  const { action, eventId } = request
  const deed = { action, kind: 'event', id: eventId } as const
  const event = await lockEvent(connection, eventId)
  const before = await findByToken<Extract<Acted, { status: 'done' }>>(
    connection,
    deed,
    request.token,
  )
  if (before !== undefined) return before
  if (action === 'discard') await lockLanesOf(connection, eventId)
  const standing = await readStanding(connection, eventId, event)
  const decision = decideAction(request, standing)
  if (decision.becomes === undefined || standing === undefined) return refusalIn(decision)
  const refusal = await change(connection, request, standing)
  if (refusal !== undefined) return { status: 'refused', code: refusal }
  const run = action === 'replay' ? standing.run + 1 : standing.run
  return writeAudit(connection, deed, request, { status: 'done', run, state: decision.becomes })
}

/** Returns why it cannot be, in which case nothing was changed. */
async function change(
  connection: Connection,
  request: ActionRequest,
  standing: Standing,
): Promise<RefusalCode | undefined> {
  const { eventId, reason } = request
  const { state, run } = standing
  switch (request.action) {
    case 'retry':
      await retryEvent(connection, eventId, standing)
      return undefined
    case 'replay':
      if (!(await takeKey(connection, eventId))) return 'EVENT_ARRIVED'
      await replayEvent(
        connection,
        { eventId, run: run + 1 },
        request,
        request.replay ?? AS_IT_CAME,
      )
      return undefined
    case 'release':
      return (await releaseEvent(connection, eventId, run)) ? undefined : 'EVENT_ARRIVED'
    case 'discard':
      await discardEvent(connection, eventId, standing, reason)
      return undefined
    case 'forget':
      if (!(await forgetEvent(connection, eventId))) return 'KEY_UNKNOWN'
      // In this transaction: a dead event that could still be retried would run beside its redelivery.
      if (state === 'dead') await discardEvent(connection, eventId, standing, reason ?? 'forgotten')
      return undefined
    case 'erase':
      return (await eraseEvent(connection, eventId)) ? undefined : 'MESSAGE_UNSENT'
  }
}
