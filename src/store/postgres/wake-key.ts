import { createHash } from 'node:crypto'
import { withoutNul } from './binary-array.ts'

/**
 * Where unhandled events of one source and type are found again: a hash of both.
 *
 * The pair itself cannot be indexed. A sender may name a type of any length, an entry of a B-tree holds
 * 2,704 bytes, and an event that cannot be parked would come back at the head of the queue for ever.
 * A source's name has no control characters, so that no two pairs read the same.
 */
export function wakeKey({ source, type }: { source: string; type: string }): Buffer {
  return createHash('sha256')
    .update(withoutNul(`${source}\u001f${type}`))
    .digest()
}
