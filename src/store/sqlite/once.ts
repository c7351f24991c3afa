/**
 * Work that runs once in a transaction of the user's, on SQLite.
 *
 * There is one writer: a transaction that has claimed a key keeps every other from writing until it ends. So a
 * second call with the same key waits where its BEGIN IMMEDIATE waits, and no claim is ever found half done.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'
import type { OnceStore } from '../contract/once.ts'
import type { OwnTx } from '../contract/transaction.ts'
import type { StoreOnce } from '../shared/encryption/seal-drafts.ts'
import type { Connections } from './connections.ts'
import { requireTransaction } from './require-transaction.ts'
import { claimOnce, finishOnce } from './sql/claim-once.ts'
import { isLentTx } from './tx.ts'
import type { SqliteTx } from './tx.ts'

export function createOnce(
  prefix: string,
  newId: () => EventId,
  store: StoreOnce,
  connections: Connections,
): OnceStore<SqliteTx> {
  return {
    inSavepoint: async (tx, work) =>
      isLentTx(tx)
        ? tx.savepoint(work)
        : inOwnSavepoint(await requireTransaction(tx, prefix, connections), work),
    claim: (tx, draft) => claimOnce(tx, prefix, { id: newId(), draft, store }),
    finish: (tx, eventId, done) => finishOnce(tx, prefix, eventId, done),
  }
}

async function inOwnSavepoint<Result>(tx: OwnTx, work: () => Promise<Result>): Promise<Result> {
  await tx.query('savepoint hookonce_once')
  try {
    const result = await work()
    await tx.query('release hookonce_once')
    return result
  } catch (error) {
    // SQLite may have rolled the whole transaction back by itself, and its savepoints with it.
    await tx.query('rollback to hookonce_once').catch(() => undefined)
    await tx.query('release hookonce_once').catch(() => undefined)
    throw error
  }
}
