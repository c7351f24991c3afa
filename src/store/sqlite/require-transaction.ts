/**
 * Whether a connection of the user's is inside a transaction, asked of SQLite itself: its drivers say it in different
 * ways, and a library hides its driver.
 *
 * `defer_foreign_keys` is switched off at every COMMIT. Outside a transaction each statement is one, so that the
 * setting is gone after the next; inside it stays. BEGIN would tell too, by failing inside: but where it does not
 * fail, it has opened a transaction, on a connection that a library may not choose again for the ROLLBACK.
 *
 * The statement between writes nothing and takes the write lock. One that only read would leave a snapshot behind, with
 * which a transaction that was begun without `immediate` cannot write once another has.
 *
 * What a handler was lent takes no PRAGMA, and is a transaction: it answers as one (`replaceProbe`), so that a
 * library's object that speaks through it is found to be inside.
 *
 * @module
 */

import type { OwnTx } from '../contract/transaction.ts'
import { firstValueOf } from '../shared/first-value.ts'
import { requireOwnTx, transactionExpected } from '../shared/require-own-tx.ts'
import type { Connections } from './connections.ts'
import { requireSameLibrary } from './require-same-library.ts'

const ASK = 'pragma defer_foreign_keys'
const SWITCH_ON = 'pragma defer_foreign_keys = on'
const SWITCH_OFF = 'pragma defer_foreign_keys = off'
const WRITE_NOTHING = `
  delete from {prefix}keys where hash is null`

/** @throws HookonceError with the code TRANSACTION_EXPECTED, or STORE_UNSAFE for that of another SQLite */
export async function requireTransaction(
  given: unknown,
  prefix: string,
  connections: Connections,
): Promise<OwnTx> {
  const tx = requireOwnTx(given)
  await requireSameLibrary(tx, connections.findLibrary())
  const wasDeferred = await isDeferred(tx)
  await tx.query(SWITCH_ON)
  await tx.query(WRITE_NOTHING.replaceAll('{prefix}', prefix))
  const isInside = await isDeferred(tx)
  if (!wasDeferred) await tx.query(SWITCH_OFF)
  if (isInside) return tx
  throw transactionExpected('this connection is not inside one; send BEGIN IMMEDIATE first')
}

async function isDeferred(tx: OwnTx): Promise<boolean> {
  const { rows } = await tx.query(ASK)
  return Number(firstValueOf(rows)) === 1
}

/** What a lent transaction runs in place of these statements; any other is given back as it is. */
export function replaceProbe(text: string): string {
  if (text === ASK) return 'select 1 as defer_foreign_keys'
  return text === SWITCH_ON ? 'select 1 where false' : text
}
