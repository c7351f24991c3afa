/**
 * Only PostgreSQL: SQLite has no server, and its settings are the connection's (`connections.ts`).
 *
 * @module
 */

import { HookonceError, StoreUnavailableError } from '../../errors.ts'
import type { Connection, ServerTraits } from './connection.ts'

const LOOK = `
  select current_setting('server_version_num')::integer as version, current_setting('server_version') as name,
         current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
         current_setting('synchronous_commit') as synchronous_commit,
         pg_is_in_recovery() as is_standby`

/** Refuses a server on which a promise would not hold, and says what is to be warned of on one where all do. */
export async function checkServer(
  connection: Connection,
  { allowUnsafe }: { allowUnsafe: boolean },
): Promise<{ readonly traits: ServerTraits; readonly warnings: readonly string[] }> {
  const { rows } = await connection.query(LOOK)
  const row = rows[0] ?? {}
  const version = Number(row['version'])
  if (version < 140_000) {
    throw new HookonceError(
      'STORE_UNSAFE',
      `PostgreSQL 14 or later is needed, this is ${String(row['name'])}`,
    )
  }
  if (row['is_standby'] === 't') {
    throw new StoreUnavailableError(
      'This PostgreSQL is a standby and cannot store: connect to the primary',
    )
  }
  const off = ['fsync', 'full_page_writes'].filter((name) => row[name] === 'off')
  const danger =
    `${off.join(' and ')} ${off.length === 1 ? 'is' : 'are'} off on this PostgreSQL: a crash of the machine ` +
    'would lose events that were answered with a success.'
  if (off.length > 0 && !allowUnsafe)
    throw new HookonceError(
      'STORE_UNSAFE',
      `${danger} Turn it on, or say allowUnsafe: true for tests.`,
    )
  return {
    traits: { hasTransactionTimeout: version >= 170_000 },
    warnings: [
      ...(off.length > 0 ? [danger] : []),
      ...(row['synchronous_commit'] === 'off' ? [HASTY] : []),
    ],
  }
}

/** No promise of ours rests on it: every transaction sets its own. */
const HASTY =
  'synchronous_commit is off by default here. Hookonce turns it on for its own transactions; what your code ' +
  'commits outside of handlers may be lost when the server crashes.'
