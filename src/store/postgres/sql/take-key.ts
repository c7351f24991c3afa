/**
 * Gives an event that is about to run the key that a redelivery of it has.
 *
 * What can run has its key: without it the sender's redelivery would run beside it. A conflict, and what is
 * quarantined, may have none of its own yet; an event that was forgotten has none any more.
 *
 * Idempotency keys follow from `events.key_hash`. Of a conflict that is the hash of a key which another event has:
 * its handlers have made their outside calls and sent their messages under those keys, so that a run under the
 * same ones would be swallowed. It gets the hash of its key and its content together. One whose key is free takes
 * it, so that the sender's redelivery is known.
 *
 * @module
 */

import { digestBytes, isSameContent, variantDigestOf } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventId } from '../../../model/event.ts'
import type { Connection } from '../connection.ts'

// $1 event
//
// Every key of an event has the fingerprint of its content.
const FIND_KEYS = `
  select encode(e.key_hash, 'hex') as key_hash, replace(e.id::text, '-', '') as id,
         (select encode(fingerprint, 'hex') from {schema}.keys where event_id = e.id limit 1) as fingerprint
    from {schema}.events e
   where e.id = $1`

// $1 hash  $2 event  $3 fingerprint
const TAKE_KEY = `
  insert into {schema}.keys (hash, event_id, fingerprint)
  values ($1, $2, $3)
      on conflict do nothing`

// $1 hash
const FIND_OWNER = `
  select event_id, encode(fingerprint, 'hex') as fingerprint
    from {schema}.keys
   where hash = $1`

// $1 event  $2 hash
const SET_IDENTITY = `
  update {schema}.events
     set key_hash = $2
   where id = $1`

/** `false` when its key stands for another event that it may be itself: it has arrived. Under the event's locks. */
export async function takeKey(connection: Connection, eventId: EventId): Promise<boolean> {
  const own = (await connection.query<'key_hash' | 'id' | 'fingerprint'>(FIND_KEYS, [eventId]))
    .rows[0]
  const keyHash = asDigest(own?.key_hash)
  const fingerprint = own?.fingerprint == null ? undefined : asDigest(own.fingerprint)
  // Without one of its own: content that no other event has, so that nothing is taken for a duplicate of it.
  const content = fingerprint ?? asDigest(own?.id)
  await connection.query(TAKE_KEY, [digestBytes(keyHash), eventId, digestBytes(content)])
  const found = await connection.query<'event_id' | 'fingerprint'>(FIND_OWNER, [
    digestBytes(keyHash),
  ])
  const [owner] = found.rows
  if (owner === undefined || owner.event_id === eventId) return true
  if (fingerprint === undefined || isSameContent(asDigest(owner.fingerprint), fingerprint))
    return false
  const variant = variantDigestOf({ keyHash, fingerprint })
  await connection.query(SET_IDENTITY, [eventId, digestBytes(variant)])
  return true
}

function asDigest(hex: string | null | undefined): Digest {
  return Buffer.from(hex ?? '', 'hex').toString('latin1')
}
