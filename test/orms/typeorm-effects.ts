import { DataSource, EntitySchema } from 'typeorm'
import type { EntityManager } from 'typeorm'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

/** The table has no key, so that an effect that happens twice is two rows; TypeORM wants to be told of one. */
export const Effect = new EntitySchema<{ eventKey: string; note: string }>({
  name: 'effects',
  columns: {
    eventKey: { type: 'text', name: 'event_key', primary: true },
    note: { type: 'text', primary: true },
  },
})

export interface Invoice {
  id: string
  status: string
  cents: string
  paidAt: Date | null
  dueOn: string | null
  tags: string[]
  data: unknown
}

export const Invoice = new EntitySchema<Invoice>({
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

export async function openTypeorm({ user, ...config }: ConnectionConfig): Promise<DataSource> {
  const dataSource = new DataSource({
    ...config,
    type: 'postgres',
    username: user,
    entities: [Effect, Invoice],
    extra: { max: 2 },
  })
  return dataSource.initialize()
}

export function insertWithTypeorm(tx: EntityManager, eventKey: string, note: string) {
  return tx.insert(Effect, { eventKey, note })
}
