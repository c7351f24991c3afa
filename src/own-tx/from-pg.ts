import { ownTxOn } from '../store/contract/transaction-behind.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import { requireOwnTx } from '../store/shared/require-own-tx.ts'

/** A client of `pg`, as far as it is used. */
export interface PgTransaction {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * A client of `pg` in which BEGIN was sent. The client itself does as well; this refuses a pool at once.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED for a pool
 */
export function fromPg(client: PgTransaction): OwnTx {
  const tx = requireOwnTx(client)
  return ownTxOn(client, (text, values) => tx.query(text, values))
}
