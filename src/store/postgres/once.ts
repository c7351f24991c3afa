/**
 * Work that runs once in a transaction of the user's, on PostgreSQL.
 *
 * Whether a transaction is open, SAVEPOINT itself says: outside of one PostgreSQL refuses it with 25P01, on whichever
 * connection of whichever pool it is sent, and nothing has been written yet.
 *
 * @module
 */

import { digestBytes } from '../../model/digest.ts'
import type { EventId } from '../../model/event.ts'
import type { OnceStore } from '../contract/once.ts'
import type { OwnTx } from '../contract/transaction.ts'
import type { StoreOnce } from '../shared/encryption/seal-drafts.ts'
import { readOnceAnswer } from '../shared/once-answer.ts'
import { claimGone, inOwnSavepoint } from '../shared/own-savepoint.ts'
import { quoteName } from '../shared/quote-name.ts'
import { requireOwnTx } from '../shared/require-own-tx.ts'
import { wholeMs } from '../shared/whole-ms.ts'
import { withoutNul } from '../shared/without-nul.ts'
import { findLentTx } from './lent-tx.ts'
import { openSavepoint } from './require-transaction.ts'
import { CLAIM_ONCE, FINISH_ONCE } from './sql/claim-once.ts'
import { isText } from './sql/draft-values.ts'
import { hasSqlState, refuseAborted } from './store-error.ts'
import type { PostgresTx } from './tx.ts'

/** What PostgreSQL says of an outcome without its event: its id is null. */
const NO_EVENT = '23502'

export function createOnce(
  schema: string,
  newId: () => EventId,
  store: StoreOnce,
): OnceStore<PostgresTx> {
  const claimText = CLAIM_ONCE.replaceAll('{schema}', quoteName(schema))
  const finishText = FINISH_ONCE.replaceAll('{schema}', quoteName(schema))

  return {
    inSavepoint: async (tx, work) => {
      if (findLentTx(tx) !== undefined) return (tx as PostgresTx).savepoint(work)
      const own = requireOwnTx(tx)
      return inOwnSavepoint(own, (name) => openSavepoint(own, name), work)
    },
    claim: async (tx, draft, { mayWait }) => {
      const { source, key, type, keyHash, fingerprint } = draft
      const id = newId()
      const { body, headers } = store(id, draft)
      const { rows } = await run(tx, claimText, [
        id,
        source,
        Buffer.from(key).toString('base64'),
        withoutNul(type),
        digestBytes(keyHash).toString('hex'),
        digestBytes(fingerprint).toString('hex'),
        Buffer.from(body).toString('base64'),
        JSON.stringify(headers),
        String(isText(body)),
        String(mayWait),
      ])
      return readOnceAnswer(id, rows)
    },
    finish: async (tx, eventId, { result, durationMs }) => {
      const ms = String(wholeMs(durationMs))
      // Also where the work went on after a statement that failed: nothing of it can be kept.
      await run(tx, finishText, [eventId, ms, ms, result ?? null]).catch((error: unknown) => {
        if (hasSqlState(error, NO_EVENT)) throw claimGone(error)
        refuseAborted(error)
      })
    },
  }
}

/** A handler may have taken on a role that may not write our tables. */
async function run(
  tx: PostgresTx | OwnTx,
  text: string,
  values: unknown[],
): Promise<{ readonly rows: readonly unknown[] }> {
  return findLentTx(tx)?.queryAsOurs(text, values) ?? tx.query(text, values)
}
