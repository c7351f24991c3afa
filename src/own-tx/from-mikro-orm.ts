import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { withQuestionMarks } from './question-marks.ts'
import { rowsOf } from './rows-of.ts'

/** The entity manager that MikroORM gives to the function of `em.transactional`, as far as it is used. */
export interface MikroOrmTransaction {
  isInTransaction(): boolean
  getTransactionContext(): unknown
  getConnection(): {
    execute(text: string, values: never, method: 'all', context: never): Promise<unknown>
  }
}

/**
 * The transaction of MikroORM: `em.transactional(async (em) => inbox.once(fromMikroOrm(em), …))`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for an entity manager that is not inside a transaction
 */
export function fromMikroOrm(em: MikroOrmTransaction): OwnTx {
  if (!em.isInTransaction())
    throw transactionExpected(
      'fromMikroOrm was given an entity manager that has none open; call em.transactional(async (em) => …) and pass fromMikroOrm(em)',
    )
  // Each fork of an entity manager is another object, in the same transaction.
  const given = em.getTransactionContext()
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function'
  return ownTxOn(isObject ? given : em, async (text, values = []) => {
    const context = em.getTransactionContext() as never
    const connection = em.getConnection()
    return rowsOf(
      await connection.execute(withQuestionMarks(text), values as never, 'all', context),
    )
  })
}
