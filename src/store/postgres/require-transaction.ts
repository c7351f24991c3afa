import type { OwnTx } from '../contract/transaction.ts'
import { requireOwnTx, transactionExpected } from '../shared/require-own-tx.ts'
import { findLentTx } from './lent-tx.ts'
import { hasSqlState, refuseAborted } from './store-error.ts'

/** Anything with a `query` like that of `pg`. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** What PostgreSQL answers to SAVEPOINT outside of a transaction, on whichever connection of whichever pool. */
const NO_TRANSACTION = '25P01'

/**
 * Throws unless `tx` is inside a transaction.
 *
 * A pool is known by its shape. Of the rest PostgreSQL itself is asked, by a savepoint: a setting, or a transaction's
 * number, would be read by what looks after the settings of handlers, or need a write.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED
 */
export async function requireTransaction(tx: Queryable): Promise<void> {
  const own = requireOwnTx(tx)
  // That of a handler is one, and sets its savepoints itself.
  if (findLentTx(own) !== undefined) return
  await openSavepoint(own, 'hookonce_probe')
  await own.query('release savepoint hookonce_probe')
}

/**
 * Sets a savepoint with this name. Of two with one name PostgreSQL means the inner one.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED outside of a transaction
 */
export async function openSavepoint(tx: OwnTx, name: string): Promise<void> {
  await tx.query(`savepoint ${name}`).catch((error: unknown) => {
    if (hasSqlState(error, NO_TRANSACTION))
      throw transactionExpected('this connection is not inside one; send BEGIN first', error)
    refuseAborted(error)
  })
}
