/**
 * Stores drafts, each by the same rules in the order they came.
 *
 * One table holds every hash that may be seen only once: keys, contents and variants. The caller
 * has SQLite's write lock, so a look-up cannot be overtaken by an insert.
 *
 * `findKnown` asks the same question without the lock. It answers a duplicate through the reader,
 * which never waits for a handler's transaction, and leaves everything else to the writer.
 *
 * @module
 */

import { digestBytes, isSameContent, variantDigestOf } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventDraft, EventId, Recorded } from '../../../model/event.ts'
import type { QuarantineReason } from '../../../model/quarantine-reason.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import { isOutsideWindow } from '../../shared/numbered-draft.ts'
import type { NumberedDraft } from '../../shared/numbered-draft.ts'
import type { Connection } from '../connection.ts'
import { eventValues, keepRequests, recordNew } from './record-new.ts'
import { reviveEvent } from './retry-event.ts'

// 1 hash
const FIND_KEY = `
  select k.event_id,
         k.fingerprint,
         exists (select 1
                   from {prefix}outcomes o
                  where o.event_id = k.event_id
                    and o.state = 'dead') as dead
    from {prefix}keys k
   where k.hash = ?`

// 1 hash  2 event id  3 fingerprint
const INSERT_KEY = `
  insert into {prefix}keys (hash, event_id, fingerprint)
  values (?, ?, ?)
      on conflict do nothing`

const INSERT_EVENT = `
  insert into {prefix}events
         (id, source, event_key, type, topic, key_hash, body, headers, received_at, occurred_at, version, sequence,
          verified_by, request_id)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// 1 event id  2 topic  3 parked  4 parked reason
const INSERT_QUEUE = `
  insert into {prefix}queue (event_id, topic, run_at, parked, parked_reason)
  values (?, ?, cast(unixepoch('subsec') * 1000 as integer), ?, ?)`

/** One answer per draft, in their order. Inside a write transaction. */
export async function recordEvents(
  connection: Connection,
  breaks: LoopBreaks,
  drafts: readonly NumberedDraft[],
): Promise<Recorded[]> {
  if (await recordNew(connection, breaks, drafts)) return drafts.map(({ id }) => accepted(id))
  return breaks.each(drafts, (numbered) => recordEvent(connection, numbered))
}

function accepted(eventId: EventId): Recorded {
  return { status: 'accepted', eventId }
}

/** The answer to a draft that is known for certain to be a duplicate and to change nothing. */
export function findKnown(connection: Connection, draft: EventDraft): Recorded | undefined {
  const known = findKey(connection, draft.keyHash)
  const found = known && findSame(connection, draft, known)
  if (found === undefined || isRevival(found, draft)) return undefined
  const { contentHash } = draft
  if (contentHash !== undefined && findKey(connection, contentHash) === undefined) return undefined
  return { status: 'duplicate', eventId: found.eventId }
}

function recordEvent(connection: Connection, numbered: NumberedDraft): Recorded {
  const { draft } = numbered
  const known = findKey(connection, draft.keyHash)
  if (known !== undefined) {
    const same = findSame(connection, draft, known)
    if (same !== undefined) return recordSame(connection, draft, same)
    return recordBeside(connection, numbered, SAME_KEY)
  }

  const first = draft.contentHash === undefined ? undefined : findKey(connection, draft.contentHash)
  if (first !== undefined && first.fingerprint !== draft.fingerprint)
    return recordBeside(connection, numbered, SAME_SIGNATURE)
  if (first !== undefined && draft.sameBytes === 'duplicate') {
    // The new key is kept, pointing at the first event, so that its own redelivery is known too.
    insertKey(connection, draft.keyHash, draft, first.eventId)
    return recordSame(connection, draft, first)
  }
  if (draft.quarantine !== undefined && isOutsideWindow(draft))
    return recordBeside(connection, numbered, {
      status: 'quarantined',
      reason: draft.quarantine,
    })
  return recordOneNew(connection, numbered, { seenBefore: first !== undefined })
}

/** Why an event is kept without its key, which belongs to another or is to stay free for another. */
type Parking =
  | { readonly status: 'conflict'; readonly reason: string }
  | { readonly status: 'quarantined'; readonly reason: QuarantineReason }

const SAME_KEY: Parking = { status: 'conflict', reason: 'same key, other content' }
const SAME_SIGNATURE: Parking = { status: 'conflict', reason: 'same signature, other content' }

/** Of a key that is known: the event with this draft's content, the first one or a conflict kept beside it. */
function findSame(
  connection: Connection,
  draft: EventDraft,
  known: KnownKey,
): KnownKey | undefined {
  if (isSameContent(known.fingerprint, draft.fingerprint)) return known
  return findKey(connection, variantDigestOf(draft))
}

function recordSame(connection: Connection, draft: EventDraft, known: KnownKey): Recorded {
  const { eventId } = known
  // What may be seen once beside the key has been seen now: under another key it is no new event.
  if (draft.contentHash !== undefined) insertKey(connection, draft.contentHash, draft, eventId)
  if (isRevival(known, draft) && reviveEvent(connection, eventId))
    return { status: 'revived', eventId }
  return { status: 'duplicate', eventId }
}

/** Parked under its key and its content together, so that it is known when it comes again. */
function recordBeside(
  connection: Connection,
  numbered: NumberedDraft,
  { status, reason }: Parking,
): Recorded {
  const { id: eventId, topic, draft } = numbered
  const variant = variantDigestOf(draft)
  const same = findKey(connection, variant)
  if (same !== undefined) return { status: 'duplicate', eventId: same.eventId }
  insertKey(connection, variant, draft, eventId)
  if (draft.contentHash !== undefined) insertKey(connection, draft.contentHash, draft, eventId)
  insertEvent(connection, numbered)
  connection.run(INSERT_QUEUE, [eventId, topic, status, reason])
  return status === 'conflict' ? { status, eventId } : { status, eventId, reason }
}

function recordOneNew(
  connection: Connection,
  numbered: NumberedDraft,
  { seenBefore }: { seenBefore: boolean },
): Recorded {
  const { id: eventId, topic, draft } = numbered
  insertKey(connection, draft.keyHash, draft, eventId)
  if (draft.contentHash !== undefined) insertKey(connection, draft.contentHash, draft, eventId)
  insertEvent(connection, numbered)

  const reason = draft.quarantine ?? (seenBefore ? 'same bytes under another key' : undefined)
  if (reason === undefined) {
    connection.run(INSERT_QUEUE, [eventId, topic, null, null])
    return accepted(eventId)
  }
  connection.run(INSERT_QUEUE, [eventId, topic, 'quarantined', reason])
  return { status: 'quarantined', eventId, reason }
}

interface KnownKey {
  readonly eventId: EventId
  readonly fingerprint: Digest
  readonly dead: boolean
}

function isRevival(known: KnownKey, draft: EventDraft): boolean {
  return known.dead && draft.redelivery === 'retry'
}

function findKey(connection: Connection, hash: Digest): KnownKey | undefined {
  const [row] = connection.all<{ event_id: string; fingerprint: Uint8Array; dead: number }>(
    FIND_KEY,
    [digestBytes(hash)],
  )
  return (
    row && {
      eventId: row.event_id,
      fingerprint: Buffer.from(row.fingerprint).toString('latin1'),
      dead: row.dead === 1,
    }
  )
}

function insertKey(
  connection: Connection,
  hash: Digest,
  draft: EventDraft,
  eventId: EventId,
): void {
  connection.run(INSERT_KEY, [digestBytes(hash), eventId, digestBytes(draft.fingerprint)])
}

function insertEvent(connection: Connection, numbered: NumberedDraft): void {
  connection.run(INSERT_EVENT, eventValues(numbered))
  keepRequests(connection, [numbered])
}
