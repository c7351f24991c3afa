/**
 * Only PostgreSQL: SQLite has no way to ask (`messages.ts`).
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { HookonceError } from '../../errors.ts'

/** Anything with a `query` like that of `pg`. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/**
 * Throws unless `tx` is inside a transaction.
 *
 * A pool is known by its shape. A client is asked: a setting made with `is_local` is there for the
 * next statement only while one transaction spans both. Comparing `now()` or transaction ids instead
 * would need a write, or be fooled by two statements within one microsecond.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED
 */
export async function requireTransaction(tx: Queryable): Promise<void> {
  if (isPool(tx)) {
    throw expected('a pool runs every statement on whichever connection is free')
  }
  const probe = randomUUID()
  await tx.query("select set_config('hookonce.probe', $1, true)", [probe])
  const { rows } = await tx.query(
    "select current_setting('hookonce.probe', true) = $1 as is_same",
    [probe],
  )
  const isSame = (rows[0] as { is_same?: unknown } | undefined)?.is_same
  if (isSame !== true && isSame !== 't') throw expected('this client is not inside one')
}

function isPool(tx: object): boolean {
  return 'connect' in tx && typeof tx.connect === 'function' && 'totalCount' in tx
}

function expected(why: string): HookonceError {
  return new HookonceError('TRANSACTION_EXPECTED', `A transaction was expected: ${why}`)
}
