/**
 * An operator's action on an event: look, decide, change, and write down what was done, in one write transaction.
 *
 * @module
 */

import type { RefusalCode } from '../../model/event-action.ts'
import type { Acted, ActionRequest } from '../contract/operators.ts'
import { AS_IT_CAME, decideAction, refusalIn } from '../shared/decide-action.ts'
import type { Standing } from '../shared/decide-action.ts'
import type { Connection } from './connection.ts'
import { findByToken, writeAudit } from './sql/audit.ts'
import { discardEvent } from './sql/discard-event.ts'
import { eraseEvent } from './sql/erase-event.ts'
import { readStanding } from './sql/event-standing.ts'
import { forgetEvent } from './sql/forget-event.ts'
import { releaseEvent } from './sql/release-event.ts'
import { replayEvent } from './sql/replay-event.ts'
import { retryEvent } from './sql/retry-event.ts'
import { takeKey } from './sql/take-key.ts'

export function actOnEvent(connection: Connection, request: ActionRequest): Acted {
  const { action, eventId } = request
  const deed = { action, kind: 'event', id: eventId } as const
  const before = findByToken<Extract<Acted, { status: 'done' }>>(connection, deed, request.token)
  if (before !== undefined) return before
  const standing = readStanding(connection, eventId)
  const decision = decideAction(request, standing)
  if (decision.becomes === undefined || standing === undefined) return refusalIn(decision)
  const refusal = change(connection, request, standing)
  if (refusal !== undefined) return { status: 'refused', code: refusal }
  const run = action === 'replay' ? standing.run + 1 : standing.run
  return writeAudit(connection, deed, request, { status: 'done', run, state: decision.becomes })
}

/** Returns why it cannot be, in which case nothing was changed. */
function change(
  connection: Connection,
  request: ActionRequest,
  standing: Standing,
): RefusalCode | undefined {
  const { eventId, reason } = request
  const { state, run } = standing
  switch (request.action) {
    case 'retry':
      retryEvent(connection, eventId, standing)
      return undefined
    case 'replay':
      if (!takeKey(connection, eventId)) return 'EVENT_ARRIVED'
      replayEvent(connection, { eventId, run: run + 1 }, request, request.replay ?? AS_IT_CAME)
      return undefined
    case 'release':
      return releaseEvent(connection, eventId, run) ? undefined : 'EVENT_ARRIVED'
    case 'discard':
      discardEvent(connection, eventId, standing, reason)
      return undefined
    case 'forget':
      if (!forgetEvent(connection, eventId)) return 'KEY_UNKNOWN'
      // In this transaction: a dead event that could still be retried would run beside its redelivery.
      if (state === 'dead') discardEvent(connection, eventId, standing, reason ?? 'forgotten')
      return undefined
    case 'erase':
      return eraseEvent(connection, eventId) ? undefined : 'MESSAGE_UNSENT'
  }
}
