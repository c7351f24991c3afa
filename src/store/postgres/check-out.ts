/**
 * Only PostgreSQL: SQLite's connections are the store's own, and are opened once (`open-connection.ts`).
 *
 * @module
 */

import { asError, StoreUnavailableError } from '../../errors.ts'
import { Connection, leftOpen } from './connection.ts'
import type { BindSchema, ServerTraits } from './connection.ts'
import type { PgPool, PgPoolClient } from './driver.ts'
import { describeCause } from './store-error.ts'

/**
 * Takes a client from the pool. One that comes too late goes straight back, and one whose transaction
 * was left open is closed: we would read its old snapshot, and our COMMIT would be its own as well. A driver
 * that cannot tell yet is asked again where it matters most, in `commitQuery`.
 */
export async function checkOut(
  pool: PgPool,
  bind: BindSchema,
  timeoutMs: number,
  server?: ServerTraits,
): Promise<Connection> {
  const deadlineAt = performance.now() + timeoutMs
  try {
    const listen = (client: PgPoolClient) => new Connection(client, bind, deadlineAt, server)
    const connection = await connect(pool, timeoutMs, listen)
    if ((connection.transactionStatus ?? 'I') === 'I') return connection
    connection.destroy()
    throw leftOpen()
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error
    const reason = describeCause(error)
    throw new StoreUnavailableError(`Cannot connect to PostgreSQL: ${reason}`, { cause: error })
  }
}

/**
 * Asks with a callback, and not for a promise: a client that is ended the moment it is made says so before
 * a promise could tell that it is there, and an `error` that has no listener ends the process
 * (`test/faults/terminated-backends.test.ts`).
 */
function connect(
  pool: PgPool,
  timeoutMs: number,
  listen: (client: PgPoolClient) => Connection,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const end = (settle: () => void): void => {
      isOver = true
      clearTimeout(timer)
      settle()
    }
    const timer = setTimeout(() => {
      const error = new StoreUnavailableError('The pool had no connection to PostgreSQL in time')
      end(() => reject(error))
    }, timeoutMs)
    let taken: PgPoolClient | undefined
    const take = (client: PgPoolClient | undefined): void => {
      // Called back, and then the promise of an async function around it.
      if (client === undefined || client === taken) return
      if (isOver) return client.release()
      taken = client
      const connection = listen(client)
      end(() => resolve(connection))
    }
    const fail = (error: unknown): void => end(() => reject(asError(error)))
    try {
      // A pool that knows no callbacks returns a promise, and `pg` returns nothing here.
      const connecting = pool.connect((error, client) => (error ? fail(error) : take(client)))
      if (isPromise(connecting)) connecting.then(take, fail)
    } catch (error) {
      // Of options that it cannot read, a URL above all, the driver may throw instead of calling back.
      fail(error)
    }
  })
}

function isPromise(value: unknown): value is Promise<PgPoolClient | undefined> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
