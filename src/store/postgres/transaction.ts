import { StoreRejectedError } from '../../errors.ts'
import { sendCommit } from './commit.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'

/**
 * Opens a transaction whose promises do not depend on what the role or the database has as default:
 * under REPEATABLE READ a duplicate would be a serialization failure, and with
 * `synchronous_commit = off` a COMMIT would promise nothing.
 */
export async function begin(connection: Connection, settings: TransactionSettings): Promise<void> {
  await connection.run(beginText(connection, settings))
}

export interface TransactionSettings {
  /** 0: no limit. */
  readonly statementTimeoutMs: number
  /** 0: no limit. */
  readonly lockTimeoutMs: number
  readonly idleTimeoutMs?: number
}

/** Runs `work` in a transaction and gives the connection back. Throws what the work, or COMMIT, threw. */
export async function inTransaction<T>(
  connection: Connection,
  settings: TransactionSettings,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const result = await transact(connection, settings, work)
    connection.release()
    return result
  } catch (error) {
    // The caller that waits for the error need not wait for this.
    void rollBack(connection)
    throw error
  }
}

/** The same, and leaves the connection with the caller: outside a transaction, unless this throws. */
export async function transact<T>(
  connection: Connection,
  settings: TransactionSettings,
  work: () => Promise<T>,
): Promise<T> {
  await begin(connection, settings)
  const result = await work()
  const answer = await sendCommit(connection)
  if (answer.status === 'committed') return result
  if (answer.status === 'unknown') throw answer.error
  throw new StoreRejectedError(`PostgreSQL refused COMMIT: ${answer.error.message}`, {
    cause: answer.error,
  })
}

/**
 * `first` is what comes before the settings are made. A handler may take longer than a default of the role's, such
 * as `transaction_timeout`, which would close the connection.
 */
export function beginText(
  { server }: Pick<Connection, 'server'>,
  { statementTimeoutMs, lockTimeoutMs, idleTimeoutMs }: TransactionSettings,
  first: readonly string[] = [],
): string {
  const statements = [
    'begin isolation level read committed read write',
    ...first,
    ...(server.hasTransactionTimeout ? ['set local transaction_timeout = 0'] : []),
    'set local synchronous_commit = on',
    `set local statement_timeout = ${milliseconds(statementTimeoutMs)}`,
    `set local lock_timeout = ${milliseconds(lockTimeoutMs)}`,
  ]
  if (idleTimeoutMs !== undefined) {
    statements.push(
      `set local idle_in_transaction_session_timeout = ${milliseconds(idleTimeoutMs)}`,
    )
  }
  return statements.join('; ')
}

/** A whole number that PostgreSQL takes for a timeout: 0 stands for none, and 2^31-1 is the most. */
export function milliseconds(value: number): number {
  return Math.min(Math.max(Math.ceil(value), 0), 2_147_483_647)
}
