/**
 * Whether what was sent to be committed is.
 *
 * Only PostgreSQL: on SQLite no answer to COMMIT can be lost on its way (`turn.ts`).
 *
 * @module
 */

import { CommitUnknownError } from '../../errors.ts'
import type { PgPoolClient, PgResult } from './driver.ts'
import type { Statement } from './statement-batch.ts'
import { findSqlState } from './store-error.ts'

/** What is needed of a connection here. */
interface CommittingConnection {
  readonly client: PgPoolClient
  destroy(): void
}

interface Runs {
  runTogether(statements: readonly Statement[]): Promise<readonly PgResult[]>
  /** Calls back for the tag of every statement that was done; `undefined` where the driver does not tell. */
  onTag(listener: (tag: string) => void): (() => void) | undefined
}

/**
 * Sends COMMIT, and only believes the tag `COMMIT`.
 *
 * `last` is what comes before it and `after` a statement that follows, whose answer is handed on: all in one round
 * trip. If `after` fails, the commit is what it is: its tag has been heard by then.
 */
export async function sendCommit(
  connection: CommittingConnection & Runs,
  last: readonly Statement[] = [],
  after?: Statement,
): Promise<CommitAnswer> {
  let isHeard = false
  const stopListening = connection.onTag((tag) => (isHeard ||= tag === 'COMMIT'))
  const together = after !== undefined && stopListening !== undefined ? [after] : []
  const answer = await judgeCommit(connection, async () => {
    try {
      return await connection.runTogether([...last, COMMIT, ...together])
    } catch (error) {
      if (together.length > 0 && isHeard) return undefined
      throw error
    }
  })
  stopListening?.()
  if (answer.status !== 'committed') return answer
  const { result } = answer
  if (result === undefined) return { status: 'committed', after: undefined }
  const tag = result[last.length]?.command
  if (tag !== 'COMMIT')
    return { status: 'refused', error: new Error(`COMMIT was answered by ${String(tag)}`) }
  return {
    status: 'committed',
    after: together.length > 0 ? result.at(-1) : await runAfter(connection, after),
  }
}

const COMMIT: Statement = { text: 'commit' }

/** Of its own, where what follows a COMMIT could be taken for its refusal. */
async function runAfter(
  connection: Runs,
  after: Statement | undefined,
): Promise<PgResult | undefined> {
  if (after === undefined) return undefined
  return connection.runTogether([after]).then(
    (results) => results[0],
    () => undefined,
  )
}

/**
 * What became of something that commits.
 *
 * An answer with an SQLSTATE is a refusal, except for those that say that the server or the session
 * is ending: such a message may overtake the news of a COMMIT that was done (`57P01` is sent by a
 * backend told to stop, also right after it has committed; `25P04` by one whose `transaction_timeout` is
 * over). Without an answer the outcome is unknown. And when PostgreSQL is made to stop waiting for a synchronous
 * standby it answers COMMIT with a mere warning, known by the routine it comes from since a user's trigger
 * may warn as well.
 */
export async function judgeCommit<T>(
  connection: CommittingConnection,
  send: () => Promise<T>,
): Promise<{ readonly status: 'committed'; readonly result: T } | CommitFailure> {
  let warning: Error | undefined
  const onNotice = (notice: Error & { routine?: string }): void => {
    if (notice.routine === 'SyncRepWaitForLSN') warning = notice
  }
  connection.client.on('notice', onNotice)
  try {
    const result = await send()
    if (warning === undefined) return { status: 'committed', result }
    return { status: 'unknown', error: new CommitUnknownError({ cause: warning }) }
  } catch (error) {
    const state = findSqlState(error)
    if (state !== undefined && !/^(?:08|57P|58|XX|25P04)/.test(state))
      return { status: 'refused', error: error as Error }
    connection.destroy()
    return { status: 'unknown', error: new CommitUnknownError({ cause: error }) }
  } finally {
    connection.client.removeListener('notice', onNotice)
  }
}

export type CommitAnswer =
  /** `after` is the answer to what followed it; `undefined` where there was none. */
  { readonly status: 'committed'; readonly after: PgResult | undefined } | CommitFailure

type CommitFailure =
  | { readonly status: 'refused'; readonly error: Error }
  | { readonly status: 'unknown'; readonly error: CommitUnknownError }
