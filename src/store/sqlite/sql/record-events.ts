/**
 * Stores drafts, each by the same rules in the order they came.
 *
 * One table holds every hash that may be seen only once: keys, contents and variants. Whoever runs
 * this has SQLite's write lock, so a look-up cannot be overtaken by an insert.
 *
 * `findKnown` asks the same question without the lock. It answers a duplicate through the reader,
 * which never waits for a handler's transaction, and leaves everything else to the writer.
 *
 * @module
 */

import { digestBytes, variantDigestOf } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventDraft, EventId, Recorded } from '../../../model/event.ts'
import type { LoopBreaks } from '../../loop-breaks.ts'
import type { Connection } from '../connection.ts'
import { eventValues, recordNew } from './record-new.ts'
import { retryEvent } from './retry-event.ts'

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
         (id, source, event_key, type, key_hash, body, headers, received_at, occurred_at, secret)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// 1 event id  2 parked  3 parked reason
const INSERT_QUEUE = `
  insert into {prefix}queue (event_id, run_at, parked, parked_reason)
  values (?, cast(unixepoch('subsec') * 1000 as integer), ?, ?)`

/** One answer per draft, in their order. Inside a write transaction. */
export async function recordEvents(
  connection: Connection,
  breaks: LoopBreaks,
  { drafts, newId }: { drafts: readonly EventDraft[]; newId: () => EventId },
): Promise<Recorded[]> {
  const numbered = drafts.map((draft) => ({ id: newId(), draft }))
  if (await recordNew(connection, breaks, numbered)) return numbered.map(({ id }) => accepted(id))
  return breaks.each(drafts, (draft) => recordEvent(connection, draft, newId))
}

function accepted(eventId: EventId): Recorded {
  return { status: 'accepted', eventId }
}

/** The answer to a draft that is known for certain to be a duplicate and to change nothing. */
export function findKnown(connection: Connection, draft: EventDraft): Recorded | undefined {
  const known = findKey(connection, draft.keyHash)
  const found = known && findSame(connection, draft, known)
  if (found === undefined || isRevival(found, draft)) return undefined
  return { status: 'duplicate', eventId: found.eventId }
}

function recordEvent(connection: Connection, draft: EventDraft, newId: () => EventId): Recorded {
  const known = findKey(connection, draft.keyHash)
  if (known !== undefined) {
    const same = findSame(connection, draft, known)
    if (same !== undefined) return recordSame(connection, draft, same)
    return recordConflict(connection, draft, newId())
  }

  const first = draft.contentHash === undefined ? undefined : findKey(connection, draft.contentHash)
  if (first !== undefined && draft.sameBytes === 'duplicate') {
    // The new key is kept, pointing at the first event, so that its own redelivery is known too.
    insertKey(connection, draft.keyHash, draft, first.eventId)
    return recordSame(connection, draft, first)
  }
  return recordOneNew(connection, draft, { eventId: newId(), seenBefore: first !== undefined })
}

/** Of a key that is known: the event with this draft's content, the first one or a conflict kept beside it. */
function findSame(
  connection: Connection,
  draft: EventDraft,
  known: KnownKey,
): KnownKey | undefined {
  if (known.fingerprint === draft.fingerprint) return known
  return findKey(connection, variantDigestOf(draft))
}

function recordSame(connection: Connection, draft: EventDraft, known: KnownKey): Recorded {
  const { eventId } = known
  if (isRevival(known, draft) && retryEvent(connection, eventId))
    return { status: 'revived', eventId }
  return { status: 'duplicate', eventId }
}

function recordConflict(connection: Connection, draft: EventDraft, eventId: EventId): Recorded {
  insertKey(connection, variantDigestOf(draft), draft, eventId)
  if (draft.contentHash !== undefined) insertKey(connection, draft.contentHash, draft, eventId)
  insertEvent(connection, draft, eventId)
  connection.run(INSERT_QUEUE, [eventId, 'conflict', 'same key, other content'])
  return { status: 'conflict', eventId }
}

function recordOneNew(
  connection: Connection,
  draft: EventDraft,
  { eventId, seenBefore }: { eventId: EventId; seenBefore: boolean },
): Recorded {
  insertKey(connection, draft.keyHash, draft, eventId)
  if (draft.contentHash !== undefined) insertKey(connection, draft.contentHash, draft, eventId)
  insertEvent(connection, draft, eventId)

  const reason = findQuarantineReason(draft, seenBefore)
  if (reason === undefined) {
    connection.run(INSERT_QUEUE, [eventId, null, null])
    return accepted(eventId)
  }
  connection.run(INSERT_QUEUE, [eventId, 'quarantined', reason])
  return { status: 'quarantined', eventId, reason }
}

function findQuarantineReason(draft: EventDraft, seenBefore: boolean): Recorded['reason'] {
  if (draft.key === undefined) return 'no key'
  return seenBefore ? 'same bytes under another key' : undefined
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

function insertEvent(connection: Connection, draft: EventDraft, eventId: EventId): void {
  connection.run(INSERT_EVENT, eventValues({ id: eventId, draft }))
}
