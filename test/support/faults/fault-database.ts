import { inject, onTestFinished } from 'vitest'
import type { ConnectionConfig } from '../postgres/start-postgres.ts'
import { createSqlite, lendPostgres } from './make-database.ts'
import type { Engine, FaultDatabase } from './make-database.ts'

export type { Engine, FaultDatabase } from './make-database.ts'

export const ENGINES: readonly Engine[] = ['postgres', 'sqlite']

/** Makes one for the length of the running test. */
export async function createFaultDatabase(engine: Engine): Promise<FaultDatabase> {
  const made = engine === 'postgres' ? await lendPostgres(requirePostgres()) : await createSqlite()
  onTestFinished(made.drop)
  return made.database
}

/** The server of this run. */
function requirePostgres(): ConnectionConfig {
  const server = inject('postgres')
  if (server === null) throw new Error('There is no PostgreSQL to test with')
  return server
}
