/**
 * Only PostgreSQL: on SQLite a transaction is the writer's turn (`turn.ts`).
 *
 * @module
 */

import { StoreRejectedError } from '../../errors.ts'
import { sendCommit } from './commit.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import type { Statement } from './statement-batch.ts'

export interface TransactionSettings {
  /** 0: no limit. */
  readonly statementTimeoutMs: number
  /** 0: no limit. */
  readonly lockTimeoutMs: number
  /** Without it, that of the role. */
  readonly idleTimeoutMs?: number
  /**
   * Whether an error is told after the rollback. PostgreSQL tells it before it lets go of the locks, and a caller that
   * tries again may meet its own.
   */
  readonly waitsForRollback?: boolean
}

/** Runs `work` in a transaction and gives the connection back. Throws what the work, or COMMIT, threw. */
export async function inTransaction<T>(
  connection: Connection,
  settings: TransactionSettings,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const result = await transact(connection, settings, work)
    connection.returnToPool()
    return result
  } catch (error) {
    const rolledBack = rollBack(connection)
    if (settings.waitsForRollback === true) await rolledBack
    throw error
  }
}

/** The same, and leaves the connection with the caller: outside a transaction, unless this throws. */
export async function transact<T>(
  connection: Connection,
  settings: TransactionSettings,
  work: () => Promise<T>,
): Promise<T> {
  await connection.runTogether([BEGIN, setLimits(connection, settings)])
  const result = await work()
  const answer = await sendCommit(connection)
  if (answer.status === 'committed') return result
  if (answer.status === 'unknown') throw answer.error
  throw new StoreRejectedError(`PostgreSQL refused COMMIT: ${answer.error.message}`, {
    cause: answer.error,
  })
}

/** Under REPEATABLE READ, which may be the default of a role, a duplicate would be a serialization failure. */
export const BEGIN: Statement = { text: 'begin isolation level read committed read write' }

/**
 * What a transaction's promises need, whatever the role or the database has as default: with
 * `synchronous_commit = off` a COMMIT would promise nothing, and a handler may take longer than the role's
 * `transaction_timeout`, which would close the connection.
 */
export function setLimits(
  { server }: Pick<Connection, 'server'>,
  { statementTimeoutMs, lockTimeoutMs, idleTimeoutMs }: TransactionSettings,
): Statement {
  const limits = [statementTimeoutMs, lockTimeoutMs, idleTimeoutMs]
  const values = limits.map((ms) => (ms === undefined ? null : String(milliseconds(ms))))
  return { text: server.hasTransactionTimeout ? SET_ALL_LIMITS : SET_LIMITS, values }
}

// $1 for a statement  $2 for a lock  $3 for a transaction that does nothing, or null; all in ms
const SET_LIMITS = `
  select pg_catalog.set_config('synchronous_commit', 'on', true),
         pg_catalog.set_config('statement_timeout', $1, true),
         pg_catalog.set_config('lock_timeout', $2, true),
         pg_catalog.set_config('idle_in_transaction_session_timeout',
           coalesce($3, pg_catalog.current_setting('idle_in_transaction_session_timeout')), true)`
// The same.
const SET_ALL_LIMITS = `${SET_LIMITS}, pg_catalog.set_config('transaction_timeout', '0', true)`

/** A whole number that PostgreSQL takes for a timeout: 0 stands for none, and 2^31-1 is the most. */
export function milliseconds(value: number): number {
  return Math.min(Math.max(Math.ceil(value), 0), 2_147_483_647)
}
