/**
 * Work that runs once for a key, in a transaction that the user has opened: consumers of brokers, jobs, endpoints with
 * an `Idempotency-Key`.
 *
 *     savepoint ─▶ claim the key ─▶ first: run the work, keep its result ─▶ release        … COMMIT is the user's
 *                       │
 *                       └─▶ known: its result, or a conflict        being claimed: wait, or `running`
 *
 * What this module promises:
 *
 * - The claim, what the work writes through the transaction, its messages and its result become true with the user's
 *   COMMIT, together or not at all. A transaction that is rolled back, or whose process has died, leaves the key free.
 * - So a COMMIT of which no answer came needs no thought: the same call in a new transaction finds either the key
 *   free or the first result.
 * - The key is one of the inbox's own, in the same table and by the same hash as that of a webhook: of a delivery and a
 *   call with one source and key, the first one counts.
 * - Two calls at once: the database's unique key decides. The second waits for the first transaction to end. It runs
 *   the work if that was rolled back.
 * - A key that comes with another payload is told as `once.conflict`, also where the caller looks at no result.
 * - One call at a time in a transaction. Another one beside it is refused and has written nothing; one that is made in
 *   the work of the first is a part of it.
 * - Work that throws undoes what it has written and frees the key, behind a savepoint: also where the caller catches
 *   the error and commits the rest.
 *
 * What it leaves to others: when to commit and to acknowledge is for the user to say. Under REPEATABLE READ and
 * SERIALIZABLE a serialization failure is thrown as the user's driver throws it, and the whole transaction is to be
 * run again, as for any other statement in it. What happened is an event that is `done`, with its source, key and
 * result: operators find it, forget and erase it, and it is pruned like any other. It has no handler, so that it cannot
 * be replayed.
 *
 * @module
 */

import { isSameContent } from '../model/digest.ts'
import type { EventId } from '../model/event.ts'
import type { AnySends, SendMap } from '../model/sends.ts'
import type { OnceClaim, OnceStore } from '../store/contract/once.ts'
import { parseStepResult, stringifyOnceResult } from '../store/contract/step-result.ts'
import { requireFunction } from '../store/contract/transaction.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { draftOnce } from './draft-once.ts'
import { inTurn } from './in-turn.ts'
import type { OnceTerms } from './draft-once.ts'
import { OnceRun } from './once-run.ts'
import type { OnceContext, OnceOutbox } from './once-run.ts'

/** What became of a call of `inbox.once`. */
export type OnceResult<Result> =
  /** The work has run. It is done when your transaction commits. */
  | { readonly status: 'first'; readonly eventId: EventId; readonly result: Result }
  /** The key was here before, and the work did not run. */
  | {
      readonly status: 'duplicate'
      readonly eventId: EventId
      /**
       * `false` for an event that the inbox has received, and that its handlers have not brought to its end: its
       * effect is still to come, or is waiting for an operator.
       */
      readonly isDone: boolean
      /** What the first work returned. A handler's result is kept only where its source is answered with it. */
      readonly result: Result | undefined
    }
  /**
   * The key was here before, with another payload or fingerprint. Nothing was done, and `once.conflict` is told. Do not
   * acknowledge such a message: whatever it wanted has not happened.
   */
  | { readonly status: 'conflict'; readonly eventId: EventId }
  /** Another transaction has claimed the key and has not ended. Only with `onConcurrent: 'refuse'`. */
  | { readonly status: 'running' }

/** What `once` is called with, and what it returns. */
export type Once<Sql, Sends extends SendMap = AnySends> = <Result>(
  tx: Sql | OwnTx,
  terms: OnceTerms,
  work: (context: OnceContext<Sends>) => Result | Promise<Result>,
) => Promise<OnceResult<Result>>

export function createOnce<Sql, Sends extends SendMap>(
  store: OnceStore<Sql>,
  outbox: OnceOutbox<Sql>,
  happenings: Pick<HappeningEmitter, 'emit'>,
): Once<Sql, Sends> {
  return async <Result>(
    tx: Sql | OwnTx,
    terms: OnceTerms,
    work: (context: OnceContext<Sends>) => Result | Promise<Result>,
  ) => {
    const { draft, mayWait } = draftOnce(terms)
    requireFunction('once', work)
    const answer = await inTurn(tx, (inWork) =>
      store.inSavepoint(tx, async (): Promise<OnceResult<Result>> => {
        const claim = await store.claim(tx, draft, { mayWait })
        if (claim.status === 'running') return claim
        if (claim.status === 'known') return answerKnown(draft.fingerprint, claim)

        const { eventId } = claim
        const run = new OnceRun(outbox, { eventId, keyHash: draft.keyHash })
        const startedAt = performance.now()
        // What can be sent is known to the compiler only.
        const result = await inWork(() => work(run.context as OnceContext<Sends>))
        await run.writeMessages(tx)
        const durationMs = performance.now() - startedAt
        await store.finish(tx, eventId, { result: stringifyOnceResult(result), durationMs })
        return { status: 'first', eventId, result }
      }),
    )
    if (answer.status === 'conflict') {
      const { source, key, type } = draft
      happenings.emit('once.conflict', { source, eventId: answer.eventId, key, type })
    }
    return answer
  }
}

function answerKnown<Result>(
  fingerprint: string,
  known: Extract<OnceClaim, { readonly status: 'known' }>,
): OnceResult<Result> {
  const { eventId, isDone } = known
  if (!isSameContent(known.fingerprint, fingerprint)) return { status: 'conflict', eventId }
  const result = parseStepResult(known.result) as Result | undefined
  return { status: 'duplicate', eventId, isDone, result }
}
