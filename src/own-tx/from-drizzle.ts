import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { returnsRows, rowsOf } from './rows-of.ts'

/** What Drizzle gives to the function of `db.transaction`, as far as it is used. */
export type DrizzleTransaction =
  | { execute(query: never): PromiseLike<unknown>; rollback(): unknown }
  | { all(query: never): unknown; run(query: never): unknown }

/**
 * The transaction of Drizzle: `db.transaction(async (tx) => inbox.once(fromDrizzle(tx), …))`.
 *
 * On SQLite with a driver that is not asynchronous (better-sqlite3), Drizzle's own `transaction` cannot wait for anything:
 * send BEGIN IMMEDIATE and COMMIT with `db.run`, and pass `db`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for the database of Drizzle itself, on PostgreSQL
 */
export function fromDrizzle(tx: DrizzleTransaction): OwnTx {
  const given = tx as {
    readonly execute?: (query: Statement) => PromiseLike<unknown>
    readonly all?: (query: Statement) => unknown
    readonly run?: (query: Statement) => unknown
    readonly rollback?: unknown
  }
  if (given.execute === undefined)
    return ownTxOn(tx, async (text, values = []) => {
      const statement = asStatement(text, values)
      return rowsOf(await (returnsRows(text) ? given.all?.(statement) : given.run?.(statement)))
    })
  if (typeof given.rollback !== 'function')
    throw transactionExpected(
      'fromDrizzle was given the database; call db.transaction(async (tx) => …) and pass fromDrizzle(tx)',
    )
  return ownTxOn(tx, async (text, values = []) =>
    rowsOf(await given.execute?.(asStatement(text, values))),
  )
}

/** What Drizzle's own `sql` is to its drivers. */
interface Statement {
  getSQL(): Statement
  toQuery(): { readonly sql: string; readonly params: readonly unknown[] }
}

function asStatement(sql: string, params: readonly unknown[]): Statement {
  const statement: Statement = { getSQL: () => statement, toQuery: () => ({ sql, params }) }
  return statement
}
