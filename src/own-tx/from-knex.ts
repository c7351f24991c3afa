import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { withQuestionMarks } from './question-marks.ts'
import { rowsOf } from './rows-of.ts'

/** What Knex gives to the function of `knex.transaction`, as far as it is used. */
export interface KnexTransaction {
  readonly isTransaction?: boolean | undefined
  raw(text: string, bindings: never): PromiseLike<unknown>
}

/**
 * The transaction of Knex: `knex.transaction(async (trx) => inbox.once(fromKnex(trx), …))`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for Knex itself
 */
export function fromKnex(trx: KnexTransaction): OwnTx {
  if (trx.isTransaction !== true)
    throw transactionExpected(
      'fromKnex was given Knex itself; call knex.transaction(async (trx) => …) and pass fromKnex(trx)',
    )
  return ownTxOn(trx, async (text, values = []) =>
    rowsOf(await trx.raw(withQuestionMarks(text), values as never)),
  )
}
