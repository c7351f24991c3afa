/**
 * Writes messages and queues those that are new, in a transaction that the caller holds.
 *
 * Whether a message is new shows in the table: its id is fresh, so that it is there only if the insert
 * was not refused by the unique key. That asks nothing of what a user's transaction returns.
 *
 * @module
 */

import type { MessageDraft, MessageId } from '../../../model/message.ts'
import type { OwnTx } from '../../contract/transaction.ts'
import type { SqliteTx } from '../tx.ts'

// 1 id  2 destination  3 key  4 event id  5 content type  6 headers  7 body  8 lane  9 id of the lane
// Each once and in their order: Knex counts placeholders, and not what they stand for.
const INSERT_MESSAGE = `
  insert into {prefix}messages
         (id, destination, key, event_id, content_type, headers, body, lane_key, lane_id, created_at, lane_position)
  select d.id, d.destination, d.key, d.event_id, d.content_type, d.headers, d.body, d.lane_key, d.lane_id,
         cast(unixepoch('subsec') * 1000 as integer),
         case when d.lane_id is not null
              then (select cast(value as integer) from {prefix}meta where name = 'message_lane_position') end
    from (select ? as id, ? as destination, ? as key, ? as event_id, ? as content_type, ? as headers, ? as body,
                 ? as lane_key, ? as lane_id) d
   where true
      on conflict (destination, key) do nothing`

// 1 delay in ms  2 id
const QUEUE_MESSAGE = `
  insert into {prefix}message_queue (message_id, destination, send_at, lane_id, lane_position)
  select id, destination, cast(unixepoch('subsec') * 1000 as integer) + ?, lane_id, lane_position
    from {prefix}messages
   where id = ?`

const TAKE_POSITION = `
  update {prefix}meta
     set value = cast(value as integer) + 1
   where name = 'message_lane_position'`

export async function enqueueMessages(
  tx: SqliteTx | OwnTx,
  prefix: string,
  messages: readonly { readonly id: MessageId; readonly draft: MessageDraft }[],
): Promise<void> {
  const insertMessage = INSERT_MESSAGE.replaceAll('{prefix}', prefix)
  const takePosition = TAKE_POSITION.replaceAll('{prefix}', prefix)
  const queueMessage = QUEUE_MESSAGE.replaceAll('{prefix}', prefix)
  for (const { id, draft } of messages) {
    const { destination, key, eventId, contentType, headers, body, delayMs, lane } = draft
    if (lane !== undefined) await tx.query(takePosition, [])
    await tx.query(insertMessage, [
      id,
      destination,
      key,
      eventId ?? null,
      contentType,
      JSON.stringify(headers),
      Buffer.from(body),
      lane?.name ?? null,
      lane?.id ?? null,
    ])
    await tx.query(queueMessage, [Math.ceil(delayMs), id])
  }
}
