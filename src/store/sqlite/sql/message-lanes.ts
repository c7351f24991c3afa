/**
 * Lanes of messages: one message of a lane is leased at a time, and those behind it wait without a time. How that works
 * is said in the file of the same name for PostgreSQL; here one writer at a time is all the lock that is needed.
 *
 * @module
 */

import type { MessageId } from '../../../model/message.ts'
import type { Connection } from '../connection.ts'

// 1 lane  2 position
const HAS_IN_FRONT = `
  select 1 as found
   where exists (select 1 from {prefix}message_queue where lane_id = ?1 and lane_position < ?2)
      or exists (select 1 from {prefix}message_queue where lane_id = ?1 and lease_token is not null)
      or exists (select 1 from {prefix}message_lane_blocks where lane_id = ?1)`

// 1 message
const PUT_BEHIND = `
  update {prefix}message_queue
     set send_at = null
   where message_id = ?`

// 1 lane
const FREE = `
  update {prefix}message_queue
     set send_at = cast(unixepoch('subsec') * 1000 as integer)
   where send_at is null
     and message_id = (select message_id from {prefix}message_queue
                        where lane_id = ?1 order by lane_position limit 1)
     and not exists (select 1 from {prefix}message_lane_blocks where lane_id = ?1)
     and not exists (select 1 from {prefix}message_queue where lane_id = ?1 and lease_token is not null)`

// 1 message  2 lane
const BLOCK = `
  insert into {prefix}message_lane_blocks (message_id, lane_id)
  values (?, ?)`

// 1 message
const UNBLOCK = `
  delete from {prefix}message_lane_blocks
   where message_id = ?`

// 1 message
const FIND_LANE = `
  select lane_id
    from {prefix}messages
   where id = ?
     and lane_id is not null`

export type LanePlace = {
  readonly message_id: MessageId
  readonly lane_id: string | null
  readonly lane_position: number | null
  readonly lease_token: number | null
}

/** Says whether the message has to wait for another of its lane, and then sees to it that it does. */
export function waitsInLane(connection: Connection, place: LanePlace): boolean {
  const { message_id, lane_id, lane_position, lease_token } = place
  // What is taken over from a relay that is gone is the one of its lane that was on its way.
  if (lane_id === null || lease_token !== null) return false
  if (connection.all(HAS_IN_FRONT, [lane_id, lane_position]).length === 0) return false
  connection.run(PUT_BEHIND, [message_id])
  return true
}

/** Gives the first of a lane its time back, if none is on its way and none blocks it. */
export function freeMessageLane(connection: Connection, laneId: string): void {
  connection.run(FREE, [laneId])
}

export function blockMessageLane(connection: Connection, id: MessageId, laneId: string): void {
  connection.run(BLOCK, [id, laneId])
}

/** After a person has decided about a message. */
export function unblockMessageLane(connection: Connection, id: MessageId): void {
  const [found] = connection.all<{ lane_id: string }>(FIND_LANE, [id])
  if (found === undefined) return
  connection.run(UNBLOCK, [id])
  freeMessageLane(connection, found.lane_id)
}
