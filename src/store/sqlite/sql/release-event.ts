/**
 * Lets a conflict or a quarantined event run, as an event of its own. Under which identity, and why, is said in the
 * file of the same name for PostgreSQL.
 *
 * @module
 */

import { digestBytes, isSameContent, variantDigestOf } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
//
// Every key of an event has the fingerprint of its content; without one, content that no other event has.
const FIND_KEYS = `
  select e.key_hash,
         coalesce((select k.fingerprint from {prefix}keys k where k.event_id = e.id limit 1),
                  cast(e.id as blob)) as fingerprint
    from {prefix}events e
   where e.id = ?`

// 1 hash  2 event id  3 fingerprint
const TAKE_KEY = `
  insert into {prefix}keys (hash, event_id, fingerprint)
  values (?, ?, ?)
      on conflict do nothing`

// 1 hash
const FIND_OWNER = `
  select event_id, fingerprint
    from {prefix}keys
   where hash = ?`

// 1 hash  2 event id
const SET_IDENTITY = `
  update {prefix}events
     set key_hash = ?
   where id = ?`

// 1 event id  2 run
const UNPARK = `
  update {prefix}queue
     set parked = null,
         parked_reason = null,
         run_at = cast(unixepoch('subsec') * 1000 as integer)
   where event_id = ?
     and run = ?`

/** `false` when its key stands for another event with the same content: it has arrived. Inside a write transaction. */
export function releaseEvent(connection: Connection, eventId: EventId, run: number): boolean {
  type Keys = { key_hash: Uint8Array; fingerprint: Uint8Array }
  const [own] = connection.all<Keys>(FIND_KEYS, [eventId])
  if (own === undefined) return false
  const fingerprint = asDigest(own.fingerprint)
  connection.run(TAKE_KEY, [own.key_hash, eventId, own.fingerprint])
  type Owner = { event_id: string; fingerprint: Uint8Array }
  const [owner] = connection.all<Owner>(FIND_OWNER, [own.key_hash])
  if (owner !== undefined && owner.event_id !== eventId) {
    if (isSameContent(asDigest(owner.fingerprint), fingerprint)) return false
    const variant = variantDigestOf({ keyHash: asDigest(own.key_hash), fingerprint })
    connection.run(SET_IDENTITY, [digestBytes(variant), eventId])
  }
  connection.run(UNPARK, [eventId, run])
  return true
}

function asDigest(bytes: Uint8Array): Digest {
  return Buffer.from(bytes).toString('latin1')
}
