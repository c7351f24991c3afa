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
 * @module
 */

import type { OwnTx } from '../contract/transaction.ts'
import { firstValueOf } from '../shared/first-value.ts'
import { requireOwnTx, transactionExpected } from '../shared/require-own-tx.ts'

const WRITE_NOTHING = `
  delete from {prefix}keys where hash is null`

/** @throws HookonceError with the code TRANSACTION_EXPECTED */
export async function requireTransaction(given: unknown, prefix: string): Promise<OwnTx> {
  const tx = requireOwnTx(given)
  const wasDeferred = await isDeferred(tx)
  await tx.query('pragma defer_foreign_keys = on')
  await tx.query(WRITE_NOTHING.replaceAll('{prefix}', prefix))
  const isInside = await isDeferred(tx)
  if (!wasDeferred) await tx.query('pragma defer_foreign_keys = off')
  if (isInside) return tx
  throw transactionExpected('this connection is not inside one; send BEGIN IMMEDIATE first')
}

async function isDeferred(tx: OwnTx): Promise<boolean> {
  const { rows } = await tx.query('pragma defer_foreign_keys')
  return Number(firstValueOf(rows)) === 1
}
