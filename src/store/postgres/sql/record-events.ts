/**
 * Stores a batch of drafts, in a transaction of the caller.
 *
 * One statement stores every draft that is plainly new. New is who has its key, and its content
 * where that is watched, claimed by its own id: the set difference of what was sent and what
 * `on conflict do nothing` returned. Adding a `union select` for the others to the same statement
 * would return no row to the loser of a race, whose snapshot is from before the winner committed;
 * they are sorted out by `record-known.ts`, in statements of their own.
 *
 * The keys are inserted in the order of their hashes, so that two batches that share keys wait for
 * each other instead of dead-locking.
 *
 * @module
 */

import type { EventDraft, EventId, Recorded } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'
import { DRAFTS, EVENT_COLUMNS, draftValues } from './draft-values.ts'
import type { NumberedDraft } from './draft-values.ts'
import { recordKnown } from './record-known.ts'

const INSERT_NEW = `
  with draft as materialized (
         select * from ${DRAFTS}),
       wanted as (
         select key_hash as hash, id, fingerprint, ord from draft
          union all
         select content_hash, id, fingerprint, ord from draft where content_hash is not null),
       claimed as (
         insert into {schema}.keys (hash, event_id, fingerprint)
         select distinct on (hash) hash, id, fingerprint
           from wanted
          order by hash, ord
             on conflict do nothing
         returning hash, event_id),
       judged as materialized (
         select draft.id, draft.ord,
                key.hash is not null as has_key,
                content.hash is not null as has_content,
                key.hash is not null
                and (draft.content_hash is null or content.hash is not null) as is_new
           from draft
           left join claimed key on key.event_id = draft.id and key.hash = draft.key_hash
           left join claimed content on content.event_id = draft.id and content.hash = draft.content_hash),
       stored as (
         insert into {schema}.events (${EVENT_COLUMNS})
         select ${EVENT_COLUMNS}
           from draft
          where id in (select id from judged where is_new)
         returning id, event_key),
       queued as (
         insert into {schema}.queue (event_id, run_at, parked, reason)
         select id, clock_timestamp(),
                case when event_key is null then 'quarantined' end,
                case when event_key is null then 'no key' end
           from stored)
  select ord, has_key, has_content
    from judged
   where not is_new
   order by ord`

/** @throws KeyVanished when a key was dropped while we looked: nothing is lost by trying again. */
export async function recordEvents(
  connection: Connection,
  drafts: readonly NumberedDraft[],
): Promise<readonly Recorded[]> {
  const { rows } = await connection.query<'ord' | 'has_key' | 'has_content'>(
    INSERT_NEW,
    draftValues(drafts),
  )
  const answers = drafts.map(({ id, draft }): Recorded => asNew(id, draft))
  if (rows.length === 0) return answers

  const rest = rows.map((row) => {
    const at = Number(row.ord) - 1
    // The database numbers what we sent, so that there is a draft at every number it returns.
    const draft = drafts[at] as NumberedDraft
    return { ...draft, at, hasKey: row.has_key === 't', hasContent: row.has_content === 't' }
  })
  const known = await recordKnown(connection, rest, { wroteNothing: isUntouched(drafts, rest) })
  for (const [at, answer] of known) answers[at] = answer
  return answers
}

function asNew(eventId: EventId, draft: EventDraft): Recorded {
  return draft.key === undefined
    ? { status: 'quarantined', eventId, reason: 'no key' }
    : { status: 'accepted', eventId }
}

function isUntouched(
  drafts: readonly unknown[],
  rest: readonly { hasKey: boolean; hasContent: boolean }[],
): boolean {
  return (
    rest.length === drafts.length && rest.every(({ hasKey, hasContent }) => !hasKey && !hasContent)
  )
}
