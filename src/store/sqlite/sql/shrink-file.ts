/**
 * Only SQLite: PostgreSQL gives the room of a partition back with it.
 *
 * @module
 */

import type { Connection } from '../connection.ts'

const COUNT_FREE = 'pragma freelist_count'

// A mebibyte with pages of 4 KiB.
const SHRINK = 'pragma incremental_vacuum(256)'

/**
 * Gives free pages at the end of the file back, a few at a time. Whether there are more: not in a file that was made
 * without `auto_vacuum`, which keeps its free pages for what is stored next.
 */
export function shrinkFile(connection: Connection): boolean {
  const before = countFree(connection)
  if (before === 0) return false
  connection.execute(SHRINK)
  const after = countFree(connection)
  return after > 0 && after < before
}

function countFree(connection: Connection): number {
  return connection.all<{ freelist_count: number }>(COUNT_FREE)[0]?.freelist_count ?? 0
}
