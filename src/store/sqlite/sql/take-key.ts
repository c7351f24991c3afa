/**
 * Gives an event that is about to run the key that a redelivery of it has. Under which identity, and why, is said in
 * the file of the same name for PostgreSQL.
 *
 * @module
 */

import { digestBytes, isSameContent, variantDigestOf } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// 1 event id
//
// Every key of an event has the fingerprint of its content.
const FIND_KEYS = `
  select e.key_hash, cast(e.id as blob) as id,
         (select k.fingerprint from {prefix}keys k where k.event_id = e.id limit 1) as fingerprint
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

/** `false` when its key stands for another event that it may be itself: it has arrived. Inside a write transaction. */
export function takeKey(connection: Connection, eventId: EventId): boolean {
  type Keys = { key_hash: Uint8Array; id: Uint8Array; fingerprint: Uint8Array | null }
  const [own] = connection.all<Keys>(FIND_KEYS, [eventId])
  if (own === undefined) return false
  // Without one of its own: content that no other event has, so that nothing is taken for a duplicate of it.
  connection.run(TAKE_KEY, [own.key_hash, eventId, own.fingerprint ?? own.id])
  type Owner = { event_id: string; fingerprint: Uint8Array }
  const [owner] = connection.all<Owner>(FIND_OWNER, [own.key_hash])
  if (owner === undefined || owner.event_id === eventId) return true
  if (own.fingerprint === null) return false
  const fingerprint = asDigest(own.fingerprint)
  if (isSameContent(asDigest(owner.fingerprint), fingerprint)) return false
  const variant = variantDigestOf({ keyHash: asDigest(own.key_hash), fingerprint })
  connection.run(SET_IDENTITY, [digestBytes(variant), eventId])
  return true
}

function asDigest(bytes: Uint8Array): Digest {
  return Buffer.from(bytes).toString('latin1')
}
