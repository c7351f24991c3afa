import { DataSource, EntitySchema } from 'typeorm'
import type { EntityManager } from 'typeorm'
import type { KilledDatabase } from '../bindings/run-until-killed.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { ListedLibsql } from './listed-libsql.ts'

/** The table has no key, so that an effect that happens twice is two rows; TypeORM wants to be told of one. */
export const Effect = new EntitySchema<{ eventKey: string; note: string }>({
  name: 'effects',
  columns: {
    eventKey: { type: 'text', name: 'event_key', primary: true },
    note: { type: 'text', primary: true },
  },
})

interface Invoice {
  id: string
  status: string
  cents: string
  paidAt: Date | null
  dueOn: string | null
  tags: string[]
  data: unknown
}

const PostgresInvoice = new EntitySchema<Invoice>({
  name: 'invoices',
  columns: {
    id: { type: 'text', primary: true },
    status: { type: 'text', default: 'open' },
    cents: { type: 'bigint', default: 0 },
    paidAt: { type: 'timestamptz', name: 'paid_at', nullable: true },
    dueOn: { type: 'date', name: 'due_on', nullable: true },
    tags: { type: 'text', array: true, default: '{}' },
    data: { type: 'jsonb', nullable: true },
  },
})

/** On SQLite these are texts or numbers, and TypeORM makes the rest of them. */
const SqliteInvoice = new EntitySchema<Invoice>({
  name: 'invoices',
  columns: {
    id: { type: 'text', primary: true },
    status: { type: 'text', default: 'open' },
    cents: { type: 'bigint', default: 0 },
    paidAt: { type: 'datetime', name: 'paid_at', nullable: true },
    dueOn: { type: 'date', name: 'due_on', nullable: true },
    tags: { type: 'simple-json', default: '[]' },
    data: { type: 'simple-json', nullable: true },
  },
})

export const INVOICES = { postgres: PostgresInvoice, sqlite: SqliteInvoice }

/** On SQLite in memory, unless it is told of a file: a handler does not use its connection. */
export async function openTypeorm(
  database: KilledDatabase,
  { isOnFile = false } = {},
): Promise<DataSource> {
  const dataSource =
    database.engine === 'postgres'
      ? openOnPostgres(database.config)
      : new DataSource({
          type: 'better-sqlite3',
          driver: ListedLibsql,
          database: isOnFile ? database.file : ':memory:',
          entities: [Effect, SqliteInvoice],
        })
  return dataSource.initialize()
}

function openOnPostgres({ user, ...config }: ConnectionConfig): DataSource {
  return new DataSource({
    ...config,
    type: 'postgres',
    username: user,
    entities: [Effect, PostgresInvoice],
    extra: { max: 2 },
  })
}

export function insertWithTypeorm(tx: EntityManager, eventKey: string, note: string) {
  return tx.insert(Effect, { eventKey, note })
}
