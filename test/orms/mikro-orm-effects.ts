import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import type { EntityManager, InferEntity } from '@mikro-orm/postgresql'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

/** The table has no key, so that an effect that happens twice is two rows; MikroORM wants to be told of one. */
export const Effect = defineEntity({
  name: 'Effect',
  tableName: 'effects',
  properties: { eventKey: p.text().primary(), note: p.text().primary() },
})

export const Invoice = defineEntity({
  name: 'Invoice',
  tableName: 'invoices',
  properties: {
    id: p.text().primary(),
    status: p.text().default('open'),
    cents: p.bigint('string').default('0'),
    paidAt: p.datetime().columnType('timestamptz').nullable(),
    dueOn: p.date().nullable(),
    tags: p.array().default([]),
    data: p.json<object>().nullable(),
  },
})
export type Invoice = InferEntity<typeof Invoice>

export function openMikroOrm({ database, ...config }: ConnectionConfig) {
  return MikroORM.init({
    ...config,
    dbName: database,
    entities: [Effect, Invoice],
    pool: { max: 2 },
    connect: false,
  })
}

export function insertWithMikroOrm(tx: EntityManager, eventKey: string, note: string) {
  return tx.insert(Effect, { eventKey, note })
}
