import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { rowsOf } from './rows-of.ts'

/** The manager that TypeORM gives to the function of `dataSource.transaction`, or a query runner, as far as it is used. */
export interface TypeormTransaction {
  query(text: string, values?: never[]): Promise<unknown>
}

/**
 * The transaction of TypeORM: `dataSource.transaction(async (manager) => inbox.once(fromTypeorm(manager), …))`, or a
 * query runner after `startTransaction()`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for what is not inside a transaction
 */
export function fromTypeorm(manager: TypeormTransaction): OwnTx {
  const given = manager as TypeormTransaction & Active & { readonly queryRunner?: Active }
  if (given.isTransactionActive !== true && given.queryRunner?.isTransactionActive !== true)
    throw transactionExpected(
      'fromTypeorm was given what has none open; call dataSource.transaction(async (manager) => …) and pass fromTypeorm(manager)',
    )
  // Each manager of a transaction, and its query runner, are one.
  return ownTxOn(given.queryRunner ?? manager, async (text, values = []) =>
    rowsOf(await manager.query(text, values as never[])),
  )
}

interface Active {
  readonly isTransactionActive?: boolean
}
