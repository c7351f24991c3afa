/**
 * Stores drafts of which none is known, many rows with one statement.
 *
 * Nearly every batch is like this, and four calls into the binding for each event were a good part of what it
 * cost: measured with batches of 25 on libsql, 97 to 108 µs an event, and 76 to 82 this way. What is not
 * plainly new is left to `record-events.ts`, draft by draft.
 *
 * @module
 */

import { digestBytes } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import { listRequests } from '../../shared/numbered-draft.ts'
import type { NumberedDraft } from '../../shared/numbered-draft.ts'
import type { Connection } from '../connection.ts'

/** Rows in one statement, largest first. Each is a text of its own, prepared once. */
const SIZES = [64, 16, 4, 1]

const INSERT_KEYS = textsOf(
  'insert into {prefix}keys (hash, event_id, fingerprint) values',
  '(?, ?, ?)',
  'on conflict do nothing',
)
const INSERT_EVENTS = textsOf(
  `insert into {prefix}events
          (id, source, event_key, type, topic, key_hash, body, headers, received_at, occurred_at, version, sequence,
           verified_by, request_id)
   values`,
  '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
)
const INSERT_QUEUED = textsOf(
  'insert into {prefix}queue (event_id, topic, run_at) values',
  "(?, ?, cast(unixepoch('subsec') * 1000 as integer))",
)

// 1 id  2 body
const INSERT_REQUEST = `
  insert into {prefix}requests (id, body)
  values (?, ?)
      on conflict do nothing`

// 1 hash  2 event id
const DELETE_KEY = `
  delete from {prefix}keys where hash = ? and event_id = ?`

/** Whether all of them were new, and are stored. If not, nothing is. Inside a write transaction. */
export async function recordNew(
  connection: Connection,
  breaks: LoopBreaks,
  drafts: readonly NumberedDraft[],
): Promise<boolean> {
  if (drafts.some(({ draft }) => draft.quarantine !== undefined)) return false
  const keys = drafts.flatMap(keysOf)
  const insert = { connection, breaks }
  if ((await insertAll(insert, INSERT_KEYS, keys)) !== keys.length) {
    for (const [hash, eventId] of keys) connection.run(DELETE_KEY, [hash, eventId])
    return false
  }
  await insertAll(insert, INSERT_EVENTS, drafts.map(eventValues))
  await insertAll(
    insert,
    INSERT_QUEUED,
    drafts.map(({ id, topic }) => [id, topic]),
  )
  keepRequests(connection, drafts)
  return true
}

/** Keeps the requests that these are parts of, where they are not kept yet. */
export function keepRequests(connection: Connection, drafts: readonly NumberedDraft[]): void {
  for (const [id, body] of listRequests(drafts)) connection.run(INSERT_REQUEST, [id, body])
}

/** The hashes that may be seen once: the key's, and the content's where that is watched. */
function keysOf({ id, draft }: NumberedDraft): readonly (readonly unknown[])[] {
  const fingerprint = digestBytes(draft.fingerprint)
  const hashes: readonly Digest[] =
    draft.contentHash === undefined ? [draft.keyHash] : [draft.keyHash, draft.contentHash]
  return hashes.map((hash) => [digestBytes(hash), id, fingerprint])
}

/** What a row of the table of events holds, in the order of its columns. */
export function eventValues({ id, topic, draft, requestId }: NumberedDraft): readonly unknown[] {
  return [
    id,
    draft.source,
    draft.key === undefined ? null : Buffer.from(draft.key),
    // As on PostgreSQL, whose text cannot hold a NUL: a handler is found by the same name on both.
    draft.type.replaceAll('\0', '\ufffd'),
    topic,
    digestBytes(draft.keyHash),
    draft.body,
    JSON.stringify(draft.headers),
    draft.receivedAt.getTime(),
    draft.occurredAt?.getTime(),
    draft.version,
    draft.sequence,
    draft.verifiedBy,
    requestId,
  ]
}

type Texts = ReadonlyMap<number, string>

function textsOf(insert: string, row: string, end = ''): Texts {
  const textOf = (size: number): string =>
    `${insert} ${Array.from({ length: size }, () => row).join(', ')} ${end}`
  return new Map(SIZES.map((size) => [size, textOf(size)]))
}

/** Returns how many rows were inserted. */
async function insertAll(
  { connection, breaks }: { readonly connection: Connection; readonly breaks: LoopBreaks },
  texts: Texts,
  rows: readonly (readonly unknown[])[],
): Promise<number> {
  let inserted = 0
  let at = 0
  for (const [size, text] of texts) {
    for (; at + size <= rows.length; at += size) {
      if (breaks.isDue) await breaks.take()
      inserted += connection.run(text, rows.slice(at, at + size).flat())
    }
  }
  return inserted
}
