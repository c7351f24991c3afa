import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { rowsOf } from './rows-of.ts'

/** What postgres.js gives to the function of `sql.begin`, as far as it is used. */
export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[]): PromiseLike<unknown>
}

/**
 * The transaction of postgres.js: `sql.begin(async (sql) => inbox.once(fromPostgresJs(sql), …))`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for what is not inside `begin`
 */
export function fromPostgresJs(sql: PostgresJsTransaction): OwnTx {
  // Only the one inside has savepoints.
  if (!('savepoint' in sql) || typeof sql.savepoint !== 'function')
    throw transactionExpected(
      'fromPostgresJs was given the pool; call sql.begin(async (sql) => …) and pass fromPostgresJs(sql)',
    )
  return ownTxOn(sql, async (text, values = []) =>
    rowsOf(await sql.unsafe(text, values as never[])),
  )
}
