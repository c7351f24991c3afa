import { randomUUID } from 'node:crypto'
import { firstValueOf } from '../shared/first-value.ts'
import { requireOwnTx, transactionExpected } from '../shared/require-own-tx.ts'

/** Anything with a `query` like that of `pg`. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
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
  requireOwnTx(tx)
  const probe = randomUUID()
  await tx.query("select set_config('hookonce.probe', $1, true)", [probe])
  const { rows } = await tx.query("select current_setting('hookonce.probe', true) = $1 as same", [
    probe,
  ])
  const same = firstValueOf(rows)
  if (same !== true && same !== 't')
    throw transactionExpected('this connection is not inside one; send BEGIN first')
}
