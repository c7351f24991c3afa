/**
 * What a store must do for work that runs once in a transaction of the user's. Held by
 * `src/testing/store/cases/once.ts` and `test/once/once.ts`.
 *
 * Rules for every store:
 *
 * - The key is claimed in the table that has the keys of all events, by the same hash: a webhook and a call with one
 *   source and key are one event. The row is inserted and never updated.
 * - Everything is written in the transaction that was handed over, and nothing on a connection of the store's: what is
 *   rolled back has left nothing behind.
 * - What the database refuses is thrown as the user's own driver throws it.
 *
 * @module
 */

import type { Digest } from '../../model/digest.ts'
import type { EventId } from '../../model/event.ts'
import type { OwnTx } from './transaction.ts'

/** The part of a store that lets work run once in a transaction of the user's. */
export interface OnceStore<Tx> {
  /**
   * Runs `work` behind a savepoint: what it throws undoes what was written in it, and is thrown on.
   *
   * @throws HookonceError with the code TRANSACTION_EXPECTED when `tx` is not inside a transaction
   */
  inSavepoint<Result>(tx: Tx | OwnTx, work: () => Promise<Result>): Promise<Result>

  /**
   * Claims the key and stores its event, or finds the one that has it. While another transaction has claimed it and
   * has not ended, this one waits, or is told so where it may not wait.
   */
  claim(tx: Tx | OwnTx, draft: OnceDraft, terms: { readonly mayWait: boolean }): Promise<OnceClaim>

  /**
   * Says that the work is done, with its result as JSON.
   *
   * @throws HookonceError with the code TRANSACTION_CONTROL where the claim was rolled back meanwhile
   */
  finish(
    tx: Tx | OwnTx,
    eventId: EventId,
    done: { readonly result: string | undefined; readonly durationMs: number },
  ): Promise<void>
}

/** The event that a call stands for. */
export interface OnceDraft {
  readonly source: string
  readonly key: string
  readonly type: string
  readonly keyHash: Digest
  readonly fingerprint: Digest
  readonly body: Uint8Array
  readonly contentType: string | undefined
}

export type OnceClaim =
  | { readonly status: 'first'; readonly eventId: EventId }
  | {
      readonly status: 'known'
      readonly eventId: EventId
      readonly fingerprint: Digest
      /** Whether its latest run has ended as done. */
      readonly isDone: boolean
      /** As it was kept. */
      readonly result: string | undefined
    }
  /** Another transaction has it, and has not ended. */
  | { readonly status: 'running' }
