import type { KeyQuery } from '../../contract/events.ts'
import { digestBytes, keyDigestOf } from '../../../model/digest.ts'
import type { Connection } from '../connection.ts'

// 1 hash of the key  2 source  3 key
//
// Without the hash only its event tells of a key with a scope.
const KNOWS = `
  select exists (
           select 1
             from {prefix}keys
            where hash = ?)
         or exists (
           select 1
             from {prefix}events e
            where e.source = ? and e.event_key = ?
              and (exists (select 1 from {prefix}keys k where k.event_id = e.id)
                   or exists (select 1 from {prefix}queue q where q.event_id = e.id))) as is_known`

export function knowsKey(connection: Connection, { source, key, hash }: KeyQuery): boolean {
  const bytes = digestBytes(hash ?? keyDigestOf(source, undefined, key))
  const [row] = connection.all<{ is_known: number }>(KNOWS, [bytes, source, Buffer.from(key)])
  return row?.is_known === 1
}
