/**
 * Only PostgreSQL: SQLite has one lock, that of the writer.
 *
 * @module
 */

import { createHash } from 'node:crypto'

/** A number for an advisory lock, the same in every process that uses this schema. As text: it has 64 bits. */
export function lockNumber(schema: string, purpose: string): string {
  return createHash('sha256')
    .update(`hookonce:${schema}:${purpose}`)
    .digest()
    .readBigInt64BE()
    .toString()
}

/** Held by who sorts events of the source into lanes, or pauses one of them. */
export function sortLockOf(schema: string, source: string): string {
  return lockNumber(schema, `sort ${source}`)
}
