/**
 * The savepoint around a call of `inbox.once` in a transaction of the user's own.
 *
 * That two calls are side by side in one transaction is found before (`src/once/in-turn.ts`), unless the user has put
 * an object of their own around it for each. So no two that are open have the same name: of two with one name the
 * database means the inner one, and a call that throws would keep the key that it has claimed.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { OwnTx } from '../contract/transaction.ts'

/** Those that are free are used again: libraries keep the texts of statements. */
const inUse = new Set<string>()

/** `open` sets a savepoint with this name. */
export async function inOwnSavepoint<Result>(
  tx: OwnTx,
  open: (name: string) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const name = takeName()
  try {
    await open(name)
    try {
      const result = await work()
      await tx.query(`release savepoint ${name}`)
      return result
    } catch (error) {
      // Where the connection is lost, or SQLite has rolled back by itself, the transaction is gone, and that is no
      // news to the caller.
      await tx.query(`rollback to savepoint ${name}`).catch(() => undefined)
      // A savepoint that stays open looks like an await that is missing, where the transaction is a handler's.
      await tx.query(`release savepoint ${name}`).catch(() => undefined)
      throw error
    }
  } finally {
    inUse.delete(name)
  }
}

/** What a call says whose claim is not there any more: nothing of it can be kept. */
export function claimGone(cause?: unknown): HookonceError {
  return new HookonceError(
    'TRANSACTION_CONTROL',
    'What a call of inbox.once has claimed was rolled back while its work ran, by another call or statement in its transaction. Run one after the other',
    { cause },
  )
}

function takeName(): string {
  for (let nth = 1; ; nth += 1) {
    const name = nth === 1 ? 'hookonce_once' : `hookonce_once_${nth}`
    if (inUse.has(name)) continue
    inUse.add(name)
    return name
  }
}
