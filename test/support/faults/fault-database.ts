import { inject, onTestFinished } from 'vitest'
import type { ConnectionConfig } from '../postgres/start-postgres.ts'
import { lendPostgres } from '../postgres/postgres-database.ts'
import { createSqlite } from '../sqlite-database.ts'
import { addLedger } from './make-database.ts'
import type { Engine, FaultDatabase } from './make-database.ts'

export type { Engine, FaultDatabase } from './make-database.ts'

export const ENGINES: readonly Engine[] = ['postgres', 'sqlite']

/** Makes one for the length of the running test. */
export async function createFaultDatabase(engine: Engine): Promise<FaultDatabase> {
  const { database, drop } = await addLedger(
    engine === 'postgres' ? await lendPostgres(requirePostgres()) : await createSqlite(),
  )
  onTestFinished(drop)
  return database
}

/** The server of this run. */
function requirePostgres(): ConnectionConfig {
  const server = inject('postgres')
  if (server === null) throw new Error('There is no PostgreSQL to test with')
  return server
}
