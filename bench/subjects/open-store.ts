import pg from 'pg'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { countStatements } from './count-statements.ts'
import type { ReceiveConfig } from './receive-config.ts'

export interface OpenedStore {
  /** Both kinds of transaction have the `query` that the handlers here use. */
  readonly store: Store<PostgresTx | SqliteTx>
  close(): Promise<void>
  /** How many statements were sent so far; on SQLite they are not sent. */
  statements(): number
}

/** Our store on the engine that the configuration names. */
export function openStore({ postgres, sqlite, poolMax }: ReceiveConfig): OpenedStore {
  if (sqlite !== undefined)
    return { store: sqliteStore(sqlite), close: async () => {}, statements: () => 0 }
  const pool = new pg.Pool({ ...postgres, max: poolMax })
  // A connection that a handler has ended may tell of it after the store is closed.
  pool.on('error', () => {})
  const statements = countStatements(pool)
  return { store: postgresStore({ pool }), close: () => pool.end(), statements }
}
