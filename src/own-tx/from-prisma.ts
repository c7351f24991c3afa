import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { isRefusal } from '../store/shared/refusals.ts'
import { transactionExpected } from '../store/shared/require-own-tx.ts'
import { rowsOf } from './rows-of.ts'

/** What Prisma gives to the function of `prisma.$transaction`, as far as it is used. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>
}

/**
 * The transaction of Prisma: `prisma.$transaction(async (tx) => inbox.once(fromPrisma(tx), …))`.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for the client of Prisma itself
 */
export function fromPrisma(tx: PrismaTransaction): OwnTx {
  // The client of a transaction can neither connect nor disconnect. That of a handler refuses both.
  if ('$connect' in tx && typeof tx.$connect === 'function' && !isRefusal(tx.$connect))
    throw transactionExpected(
      'fromPrisma was given the client; call prisma.$transaction(async (tx) => …) and pass fromPrisma(tx)',
    )
  return ownTxOn(tx, async (text, values = []) =>
    rowsOf(await tx.$queryRawUnsafe(text, ...(values as never[]))),
  )
}
