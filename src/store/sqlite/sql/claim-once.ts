/**
 * Claims a key in a transaction of the user's, and stores its event with it.
 *
 * The insert takes SQLite's write lock, so that nothing comes between it and the look after it. The table shows which event
 * has the key: the new id is there only if the insert was not refused. That asks nothing of what a user's driver returns.
 *
 * @module
 */

import type { OwnTx } from '../../contract/transaction.ts'
import { digestBytes } from '../../../model/digest.ts'
import type { EventId } from '../../../model/event.ts'
import { NO_TOPIC } from '../../../model/topic.ts'
import type { OnceClaim, OnceDraft } from '../../contract/once.ts'
import type { StoreOnce } from '../../shared/encryption/seal-drafts.ts'
import { readOnceAnswer } from '../../shared/once-answer.ts'
import { claimGone } from '../../shared/own-savepoint.ts'
import { wholeMs } from '../../shared/whole-ms.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

// 1 hash  2 event id  3 fingerprint
const INSERT_KEY = `
  insert into {prefix}keys (hash, event_id, fingerprint)
  values (?, ?, ?)
      on conflict do nothing`

// 1 hash
const LOOK = `
  select json_object('owner', k.event_id, 'fingerprint', lower(hex(k.fingerprint)), 'state', o.state,
                     'result', o.result) as claimed
    from {prefix}keys k
    left join {prefix}outcomes o
      on o.event_id = k.event_id
     and o.run = (select max(run) from {prefix}outcomes l where l.event_id = k.event_id)
   where k.hash = ?`

// 1 id  2 source  3 event key  4 type  5 topic  6 key hash  7 body  8 headers
const INSERT_EVENT = `
  insert into {prefix}events
         (id, source, event_key, type, topic, key_hash, body, headers, received_at, verified_by)
  values (?, ?, ?, ?, ?, ?, ?, ?, ${NOW}, 'once')`

// 1 event id  2 started ago in ms  3 duration  4 result
//
// Of an event that is gone, with the savepoint that it was written behind, the id is null, and that is refused.
const FINISH = `
  insert into {prefix}outcomes
         (event_id, run, state, attempts, started_at, duration_ms, result, settled_at)
  values ((select id from {prefix}events where id = ?), 0, 'done', 1, ${NOW} - ?, ?, ?, ${NOW})`

// 1 event id
const FIND_EVENT = `
  select id from {prefix}events where id = ?`

export async function claimOnce(
  tx: OwnTx,
  prefix: string,
  { id, draft, store }: { id: EventId; draft: OnceDraft; store: StoreOnce },
): Promise<OnceClaim> {
  const hash = digestBytes(draft.keyHash)
  const bind = (text: string): string => text.replaceAll('{prefix}', prefix)
  await tx.query(bind(INSERT_KEY), [hash, id, digestBytes(draft.fingerprint)])
  const { rows } = await tx.query(bind(LOOK), [hash])
  const claim = readOnceAnswer(id, rows)
  if (claim.status !== 'first') return claim
  const { source, key, type } = draft
  const { body, headers } = store(id, draft)
  await tx.query(bind(INSERT_EVENT), [
    id,
    source,
    Buffer.from(key),
    type.replaceAll('\0', '\ufffd'),
    NO_TOPIC,
    hash,
    Buffer.from(body),
    JSON.stringify(headers),
  ])
  return claim
}

export async function finishOnce(
  tx: OwnTx,
  prefix: string,
  eventId: EventId,
  { result, durationMs }: { readonly result: string | undefined; readonly durationMs: number },
): Promise<void> {
  const ms = wholeMs(durationMs)
  const bind = (text: string): string => text.replaceAll('{prefix}', prefix)
  try {
    await tx.query(bind(FINISH), [eventId, ms, ms, result ?? null])
  } catch (error) {
    const { rows } = await tx.query(bind(FIND_EVENT), [eventId])
    throw rows.length === 0 ? claimGone(error) : error
  }
}
