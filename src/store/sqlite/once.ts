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
import type { StoreOnce } from '../shared/encryption/seal-drafts.ts'
import { inOwnSavepoint } from '../shared/own-savepoint.ts'
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
    inSavepoint: async (tx, work) => {
      if (isLentTx(tx)) return tx.savepoint(work)
      const own = await requireTransaction(tx, prefix, connections)
      return inOwnSavepoint(own, (name) => own.query(`savepoint ${name}`), work)
    },
    claim: (tx, draft) => claimOnce(tx, prefix, { id: newId(), draft, store }),
    finish: (tx, eventId, done) => finishOnce(tx, prefix, eventId, done),
  }
}
