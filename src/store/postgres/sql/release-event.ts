/**
 * Lets a conflict or a quarantined event run, as an event of its own.
 *
 * Idempotency keys follow from `events.key_hash`. Of a conflict that is the hash of a key which another event has:
 * its handlers have made their outside calls and sent their messages under those keys, so that a release under the
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
// Every key of an event has the fingerprint of its content; without one, content that no other event has.
const FIND_KEYS = `
  select encode(e.key_hash, 'hex') as key_hash,
         coalesce((select encode(fingerprint, 'hex') from {schema}.keys where event_id = e.id limit 1),
                  replace(e.id::text, '-', '')) as fingerprint
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

// $1 event  $2 run
const UNPARK = `
  update {schema}.queue
     set parked = null, parked_reason = null, run_at = clock_timestamp()
   where event_id = $1 and run = $2`

/** `false` when its key stands for another event with the same content: it has arrived. Under the event's locks. */
export async function releaseEvent(
  connection: Connection,
  eventId: EventId,
  run: number,
): Promise<boolean> {
  const own = (await connection.query<'key_hash' | 'fingerprint'>(FIND_KEYS, [eventId])).rows[0]
  const keyHash = asDigest(own?.key_hash)
  const fingerprint = asDigest(own?.fingerprint)
  await connection.query(TAKE_KEY, [digestBytes(keyHash), eventId, digestBytes(fingerprint)])
  const found = await connection.query<'event_id' | 'fingerprint'>(FIND_OWNER, [
    digestBytes(keyHash),
  ])
  const [owner] = found.rows
  if (owner !== undefined && owner.event_id !== eventId) {
    if (isSameContent(asDigest(owner.fingerprint), fingerprint)) return false
    const variant = variantDigestOf({ keyHash, fingerprint })
    await connection.query(SET_IDENTITY, [eventId, digestBytes(variant)])
  }
  await connection.query(UNPARK, [eventId, run])
  return true
}

function asDigest(hex: string | null | undefined): Digest {
  return Buffer.from(hex ?? '', 'hex').toString('latin1')
}
