/**
 * Whether what was sent to be committed is.
 *
 * @module
 */

import { CommitUnknownError } from '../../errors.ts'
import type { PgPoolClient, PgResult } from './driver.ts'
import { findSqlState } from './store-error.ts'

/** What is needed of a connection here. */
interface CommittingConnection {
  readonly client: PgPoolClient
  destroy(): void
}

interface Runs {
  run(text: string): Promise<readonly PgResult[]>
}

/** Sends what ends a transaction, and only believes the tag `COMMIT`. */
export async function sendCommit(
  connection: CommittingConnection & Runs,
  text = 'commit',
): Promise<CommitAnswer> {
  const answer = await judgeCommit(connection, async () => connection.run(text))
  if (answer.status !== 'committed') return answer
  const tag = answer.result.at(-1)?.command
  if (tag === 'COMMIT') return { status: 'committed' }
  return { status: 'refused', error: new Error(`COMMIT was answered by ${String(tag)}`) }
}

/**
 * What became of something that commits.
 *
 * An answer with an SQLSTATE is a refusal, except for those that say that the server or the session
 * is ending: such a message may overtake the news of a COMMIT that was done (`57P01` is sent by a
 * backend told to stop, also right after it has committed). Without an answer nobody knows. And when
 * PostgreSQL is made to stop waiting for a synchronous standby it answers COMMIT with a mere warning,
 * known by the routine it comes from since a user's trigger may warn as well.
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
    if (state !== undefined && !/^(?:08|57P|58|XX)/.test(state))
      return { status: 'refused', error: error as Error }
    connection.destroy()
    return { status: 'unknown', error: new CommitUnknownError({ cause: error }) }
  } finally {
    connection.client.removeListener('notice', onNotice)
  }
}

export type CommitAnswer = { readonly status: 'committed' } | CommitFailure

type CommitFailure =
  | { readonly status: 'refused'; readonly error: Error }
  | { readonly status: 'unknown'; readonly error: CommitUnknownError }
