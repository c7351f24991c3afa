/**
 * Whether a connection of the user's is one of the SQLite that the store has open.
 *
 * POSIX drops all locks of a process on a file when the process closes any handle to it. SQLite knows of that, and keeps
 * its own handles open until no connection has a lock; a second copy of SQLite in the same process does not know of
 * the first one's. Its closing takes the store's locks away, and the file may be damaged.
 *
 * Asked of SQLite itself, since a library hides its driver. Two copies of one version say the same and are not noticed.
 *
 * Only SQLite: the locks of PostgreSQL are in its server.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { OwnTx } from '../contract/transaction.ts'
import { firstValueOf } from '../shared/first-value.ts'

/** What a copy of SQLite was made from, with its date. */
export const ASK_LIBRARY = 'select sqlite_source_id() as source'

/** @throws HookonceError with the code STORE_UNSAFE */
export async function requireSameLibrary(tx: OwnTx, ours: string | undefined): Promise<void> {
  // A store that is not open has no locks to lose.
  if (ours === undefined) return
  const { rows } = await tx.query(ASK_LIBRARY)
  const theirs = String(firstValueOf(rows))
  if (theirs === ours) return
  throw new HookonceError(
    'STORE_UNSAFE',
    'This connection is one of another SQLite than the store has open in this process ' +
      `(${theirs.slice(0, 10)} beside ${ours.slice(0, 10)}), and each takes the locks of the other away. Open both with one: ` +
      'give sqliteStore the driver that your connection has, driver: "libsql" or "node:sqlite"',
  )
}
