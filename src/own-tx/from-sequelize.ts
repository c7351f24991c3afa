import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { returnsRows, rowsOf } from './rows-of.ts'

/** Sequelize, as far as it is used. */
export interface SequelizeLike {
  query(text: string, options: never): Promise<unknown>
}

/**
 * The transaction of Sequelize:
 * `sequelize.transaction(async (transaction) => inbox.once(fromSequelize(sequelize, transaction), …))`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED without a transaction
 */
export function fromSequelize(sequelize: SequelizeLike, transaction: object): OwnTx {
  if (typeof transaction !== 'object' || transaction === null || 'query' in transaction)
    throw transactionExpected(
      'fromSequelize needs one; call sequelize.transaction(async (transaction) => …) and pass fromSequelize(sequelize, transaction)',
    )
  return ownTxOn(transaction, async (text, values = []) => {
    const placed = text.includes('?') ? { replacements: values } : { bind: values }
    const isRead = returnsRows(text)
    const options = { transaction, ...placed, ...(isRead ? { type: 'SELECT' } : {}) }
    const answer = await sequelize.query(text, options as never)
    return isRead ? rowsOf(answer) : { rows: [] }
  })
}
