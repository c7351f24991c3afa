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

// $1 message
const RETRY = `
  with again as (
         delete from {schema}.message_outcomes
          where message_id = $1 and state in ('dead', 'unknown')
         returning message_id)
  insert into {schema}.message_queue (message_id, destination, send_at, lane_id, lane_position)
  select m.id, m.destination, clock_timestamp(), m.lane_id, m.lane_position
    from again
    join {schema}.messages m on m.id = again.message_id`

// $1 message
const CONFIRM = `
  update {schema}.message_outcomes
     set state = 'sent', reason = 'confirmed by an operator', settled_at = clock_timestamp()
   where message_id = $1 and state = 'unknown'`

// $1 message
const DISCARD_STOPPED = `
  update {schema}.message_outcomes
     set state = 'discarded', settled_at = clock_timestamp()
   where message_id = $1 and state in ('dead', 'unknown')`

// $1 message
//
// One whose lease has ended may have been sent by the relay that had it.
const DISCARD_QUEUED = `
  with gone as (
         delete from {schema}.message_queue
          where message_id = $1 and (lease_token is null or send_at <= clock_timestamp())
         returning message_id, attempts, coalesce(uncertain_since, claimed_at) as uncertain_since)
  insert into {schema}.message_outcomes (message_id, state, attempts, reason, uncertain_since, settled_at)
  select message_id, 'discarded', attempts, 'discarded by an operator', uncertain_since, clock_timestamp()
    from gone`

// $1 message
const LOCK_LANE = `
  select {schema}.lock_message_lanes(array(select lane_id from {schema}.messages where id = $1 and lane_id is not null))`

// $1 message
const UNBLOCK_LANE = `
  delete from {schema}.message_lane_blocks
   where message_id = $1`

// $1 message
const FREE_LANE = `
  select {schema}.free_message_lanes(array(select lane_id from {schema}.messages where id = $1 and lane_id is not null))`

/** Inside a transaction of the caller. */
export async function decideMessage(
  connection: Connection,
  action: MessageAction,
  id: MessageId,
  order: Ordered,
): Promise<MessageDecided> {
  const deed = { action, kind: 'message', id } as const
  const findDone = () => findByToken<{ status: 'done' }>(connection, deed, order.token)
  const before = await findDone()
  if (before !== undefined) return before
  await connection.query(LOCK_LANE, [id])
  for (const sql of CHANGES[action]) {
    const { rowCount } = await connection.query(sql, [id])
    if (rowCount !== 1) continue
    await connection.query(UNBLOCK_LANE, [id])
    await connection.query(FREE_LANE, [id])
    return writeAudit(connection, deed, order, { status: 'done' })
  }
  return (await findDone()) ?? { status: 'refused', code: 'MESSAGE_STATE' }
}

/** For each action, what is tried in turn. */
const CHANGES: Readonly<Record<MessageAction, readonly string[]>> = {
  retryMessage: [RETRY],
  confirmMessage: [CONFIRM],
  discardMessage: [DISCARD_STOPPED, DISCARD_QUEUED],
}
