/**
 * Writes messages and queues those that are new, in a transaction that the caller holds.
 *
 * A function in the database for the reason given in `record-new.ts`: every handler that sends calls it,
 * and its plan is kept. The rows are inserted in the order of their keys, so that two transactions that
 * share keys wait for each other instead of dead-locking.
 *
 * @module
 */

import type { MessageDraft, MessageId } from '../../../model/message.ts'
import type { OwnTx } from '../../contract/transaction.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { byteaArray, plainArray, textArray } from '../binary-array.ts'

export const CREATE_ENQUEUE_MESSAGES = `
create or replace function {schema}.enqueue_messages(
  ids uuid[], destinations text[], keys text[], event_ids uuid[], content_types text[], header_texts text[],
  bodies bytea[], delays_ms bigint[], lanes text[], lane_ids uuid[])
returns void
language plpgsql as $enqueue_messages$
begin
  with draft as materialized (
         -- Numbered in the order of the list; the rows are inserted in that of their keys.
         select *, case when lane_id is not null then nextval('{schema}.message_lane_positions') end as lane_position
           from unnest(ids, destinations, keys, event_ids, content_types, header_texts, bodies, delays_ms, lanes,
                       lane_ids)
             as draft (id, destination, key, event_id, content_type, headers, body, delay_ms, lane_key, lane_id)),
       stored as (
         insert into {schema}.messages
                (id, destination, key, event_id, content_type, headers, body, created_at, lane_key, lane_id,
                 lane_position)
         select d.id, d.destination, d.key, d.event_id, d.content_type, d.headers, d.body, clock_timestamp(),
                d.lane_key, d.lane_id, d.lane_position
           from draft d
          order by d.destination, d.key
             on conflict (destination, key) do nothing
         returning messages.id)
  insert into {schema}.message_queue (message_id, destination, send_at, lane_id, lane_position)
  select d.id, d.destination, clock_timestamp() + d.delay_ms * interval '1 millisecond', d.lane_id, d.lane_position
    from draft d
    join stored s on s.id = d.id;
end
$enqueue_messages$;`

// $1 ids  $2 destinations  $3 keys  $4 events  $5 content types  $6 headers  $7 bodies  $8 delays in ms  $9 lanes
// $10 ids of lanes
export const ENQUEUE_MESSAGES = `
  select {schema}.enqueue_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// $1 id  $2 destination  $3 key  $4 event  $5 content type  $6 headers  $7 body in base64  $8 delay in ms  $9 lane
// $10 id of the lane
//
// For a transaction of the user's, through whichever library: all parameters are sent as text, since what a driver
// makes of arrays and bytes differs, and Prisma cannot read an answer of the type `void`.
const ENQUEUE_OWN = `
  select {schema}.enqueue_messages(array[$1::text::uuid], array[$2::text], array[$3::text], array[$4::text::uuid],
                                   array[$5::text], array[$6::text], array[decode($7::text, 'base64')],
                                   array[$8::text::bigint], array[$9::text], array[$10::text::uuid])::text as enqueued`

/** A draft with the id it will have if it turns out to be new. */
export interface NumberedMessage {
  readonly id: MessageId
  readonly draft: MessageDraft
}

/** Runs a statement in the transaction. */
export type Enqueue = (text: string, values: readonly unknown[]) => Promise<unknown>

/** `text` is `ENQUEUE_MESSAGES` with the schema bound: a transaction of the user's knows nothing of ours. */
export async function enqueueMessages(
  run: Enqueue,
  text: string,
  messages: readonly NumberedMessage[],
): Promise<void> {
  const drafts = messages.map(({ draft }) => draft)
  await run(text, [
    plainArray(messages.map(({ id }) => id)),
    textArray(drafts.map(({ destination }) => destination)),
    textArray(drafts.map(({ key }) => key)),
    plainArray(drafts.map(({ eventId }) => eventId ?? 'NULL')),
    textArray(drafts.map(({ contentType }) => contentType)),
    textArray(drafts.map(({ headers }) => JSON.stringify(headers))),
    byteaArray(drafts.map(({ body }) => body)),
    plainArray(drafts.map(({ delayMs }) => Math.ceil(delayMs))),
    textArray(drafts.map(({ lane }) => lane?.name ?? null)),
    plainArray(drafts.map(({ lane }) => lane?.id ?? 'NULL')),
  ])
}

/** The same in a transaction of the user's own. */
export async function enqueueInOwn(
  tx: OwnTx,
  schema: string,
  messages: readonly NumberedMessage[],
): Promise<void> {
  const text = ENQUEUE_OWN.replaceAll('{schema}', schema)
  for (const { id, draft } of messages) {
    const { destination, key, eventId, contentType, headers, body, delayMs, lane } = draft
    await tx.query(text, [
      id,
      destination,
      key,
      eventId ?? null,
      contentType,
      JSON.stringify(headers),
      Buffer.from(body).toString('base64'),
      String(Math.ceil(delayMs)),
      lane === undefined ? null : withoutNul(lane.name),
      lane?.id ?? null,
    ])
  }
}
