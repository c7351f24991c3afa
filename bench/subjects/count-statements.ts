import type { Pool } from 'pg'

/** Counts what is sent to PostgreSQL over the connections that a pool makes from now on. */
export function countStatements(pool: Pool): () => number {
  let statements = 0
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    const counting = (...args: unknown[]): unknown => {
      statements += 1
      return query(...args)
    }
    client.query = counting as typeof client.query
  })
  return () => statements
}
