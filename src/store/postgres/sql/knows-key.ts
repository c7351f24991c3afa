import type { KeyQuery } from '../../contract/events.ts'
import { digestBytes, keyDigestOf } from '../../../model/digest.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import type { Connection } from '../connection.ts'

// $1 hash of the key  $2 source  $3 key
//
// A key may be longer than an index entry, so the index has its hash. Without the hash only its event tells of one with a scope.
const KNOWS = `
  select exists (
           select
             from {schema}.keys
            where hash = $1)
         or exists (
           select
             from {schema}.events e
            where e.source = $2 and sha256(e.event_key) = sha256($3::bytea)
              and (exists (select from {schema}.keys k where k.event_id = e.id)
                   or exists (select from {schema}.queue q where q.event_id = e.id))) as is_known`

export async function knowsKey(
  connection: Connection,
  { source, key, hash }: KeyQuery,
): Promise<boolean> {
  const bytes = digestBytes(hash ?? keyDigestOf(source, undefined, key))
  const { rows } = await connection.query<'is_known'>(KNOWS, [
    bytes,
    withoutNul(source),
    Buffer.from(key),
  ])
  return rows[0]?.is_known === 't'
}
