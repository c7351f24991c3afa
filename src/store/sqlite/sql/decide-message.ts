/**
 * What a person decides about a message that stopped, or is not wanted any more.
 *
 * @module
 */

import type { MessageId } from '../../../model/message.ts'
import type { MessageAction, MessageDecided } from '../../contract/messages.ts'
import type { Ordered } from '../../contract/operators.ts'
import type { Connection } from '../connection.ts'
import { findByToken, writeAudit } from './audit.ts'
import { unblockMessageLane } from './message-lanes.ts'

// 1 message
const DROP_STOPPED = `
  delete from {prefix}message_outcomes
   where message_id = ?
     and state in ('dead', 'unknown')`

// 1 message
const QUEUE = `
  insert into {prefix}message_queue (message_id, destination, send_at, lane_id, lane_position)
  select id, destination, cast(unixepoch('subsec') * 1000 as integer), lane_id, lane_position
    from {prefix}messages
   where id = ?`

// 1 message
const CONFIRM = `
  update {prefix}message_outcomes
     set state = 'sent',
         reason = 'confirmed by an operator',
         settled_at = cast(unixepoch('subsec') * 1000 as integer)
   where message_id = ?
     and state = 'unknown'`

// 1 message
const DISCARD_STOPPED = `
  update {prefix}message_outcomes
     set state = 'discarded',
         settled_at = cast(unixepoch('subsec') * 1000 as integer)
   where message_id = ?
     and state in ('dead', 'unknown')`

// 1 message
//
// One whose lease has ended may have been sent by the relay that had it.
const DISCARD_QUEUED = `
  insert into {prefix}message_outcomes
         (message_id, state, attempts, reason, uncertain_since, settled_at)
  select message_id, 'discarded', attempts, 'discarded by an operator', coalesce(uncertain_since, claimed_at),
         cast(unixepoch('subsec') * 1000 as integer)
    from {prefix}message_queue
   where message_id = ?
     and (lease_token is null or send_at <= cast(unixepoch('subsec') * 1000 as integer))`

// 1 message
const DEQUEUE = `
  delete from {prefix}message_queue
   where message_id = ?`

/** Inside a write transaction. */
export function decideMessage(
  connection: Connection,
  action: MessageAction,
  id: MessageId,
  order: Ordered,
): MessageDecided {
  const deed = { action, kind: 'message', id } as const
  const before = findByToken<{ status: 'done' }>(connection, deed, order.token)
  if (before !== undefined) return before
  if (!CHANGES[action](connection, id)) return { status: 'refused', code: 'MESSAGE_STATE' }
  unblockMessageLane(connection, id)
  return writeAudit(connection, deed, order, { status: 'done' })
}

/** Each says whether it changed anything. */
const CHANGES: Readonly<Record<MessageAction, (connection: Connection, id: MessageId) => boolean>> =
  {
    retryMessage: (connection, id) =>
      connection.run(DROP_STOPPED, [id]) === 1 && connection.run(QUEUE, [id]) === 1,
    confirmMessage: (connection, id) => connection.run(CONFIRM, [id]) === 1,
    discardMessage: (connection, id) =>
      connection.run(DISCARD_STOPPED, [id]) === 1 ||
      (connection.run(DISCARD_QUEUED, [id]) === 1 && connection.run(DEQUEUE, [id]) === 1),
  }
