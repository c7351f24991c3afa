import { randomUUID } from 'node:crypto'
import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { rowsOf } from './rows-of.ts'

/** What Kysely gives to the function of `db.transaction().execute`, as far as it is used. */
export interface KyselyTransaction {
  readonly isTransaction: boolean
  executeQuery(query: never): PromiseLike<unknown>
}

/**
 * The transaction of Kysely: `db.transaction().execute(async (trx) => inbox.once(fromKysely(trx), …))`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for the database of Kysely itself
 */
export function fromKysely(trx: KyselyTransaction): OwnTx {
  if (!trx.isTransaction)
    throw transactionExpected(
      'fromKysely was given the database; call db.transaction().execute(async (trx) => …) and pass fromKysely(trx)',
    )
  return ownTxOn(trx, async (sql, parameters = []) =>
    rowsOf(
      await trx.executeQuery({
        sql,
        parameters,
        query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
        queryId: { queryId: randomUUID() },
      } as never),
    ),
  )
}
