import { StoreUnavailableError } from '../../errors.ts'
import type { Recorded } from '../../model/event.ts'
import type { Connection } from './connection.ts'
import { asStoreError, isRetryable } from './store-error.ts'
import { inTransaction } from './transaction.ts'
import { recordEvents } from './sql/record-events.ts'
import type { NumberedDraft } from './sql/draft-values.ts'
import { KeyVanished } from './sql/record-known.ts'

const RETRIES_MAX = 5

/**
 * Stores a batch in one transaction, again after a deadlock, and all of it before the deadline.
 *
 * Three round trips when everything in it is new: begin, insert, commit.
 */
export async function recordBatch(
  connect: (timeoutMs: number) => Promise<Connection>,
  drafts: readonly NumberedDraft[],
  deadlineMs: number,
): Promise<readonly Recorded[]> {
  const deadlineAt = performance.now() + deadlineMs
  let hasVanished = false
  for (let retries = 0; ; retries += 1) {
    try {
      return await recordOnce(connect, drafts, deadlineAt - performance.now())
    } catch (error) {
      if (error instanceof KeyVanished) {
        if (hasVanished)
          throw new StoreUnavailableError(
            'A key was dropped twice while its event was being stored',
          )
        hasVanished = true
      } else if (!isRetryable(error) || retries >= RETRIES_MAX) {
        throw asStoreError(error)
      }
    }
  }
}

async function recordOnce(
  connect: (timeoutMs: number) => Promise<Connection>,
  drafts: readonly NumberedDraft[],
  timeoutMs: number,
): Promise<readonly Recorded[]> {
  const connection = await connect(timeoutMs)
  // The server gives up by itself a little after us, so that an abandoned batch does not hold keys for long.
  const limits = {
    statementTimeoutMs: timeoutMs + 100,
    lockTimeoutMs: 0,
    idleTimeoutMs: timeoutMs + 1_000,
  }
  return inTransaction(connection, limits, async () => recordEvents(connection, drafts))
}
