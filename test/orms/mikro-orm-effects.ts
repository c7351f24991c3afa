import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import type { InferEntity } from '@mikro-orm/postgresql'
import { MikroORM as SqliteOrm } from '@mikro-orm/libsql'
import type { KilledDatabase } from '../bindings/run-until-killed.ts'

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

/** On SQLite a list would be cut at its commas. */
const SqliteInvoice = defineEntity({
  name: 'Invoice',
  tableName: 'invoices',
  properties: {
    id: p.text().primary(),
    status: p.text().default('open'),
    cents: p.bigint('string').default('0'),
    paidAt: p.datetime().nullable(),
    dueOn: p.date().nullable(),
    tags: p.json<string[]>().default('[]'),
    data: p.json<object>().nullable(),
  },
})

/** The same for either, as far as it is used: MikroORM 7 finds an entity by what was given to it, and not by its name. */
export const INVOICES = { postgres: Invoice, sqlite: SqliteInvoice as unknown as typeof Invoice }

/** What both drivers make of entities, as far as it is used here. */
export type Orm = Pick<MikroORM, 'em' | 'close'>

/** On SQLite in memory, unless it is told of a file: a handler does not use its connection. */
export async function openMikroOrm(
  database: KilledDatabase,
  { isOnFile = false } = {},
): Promise<Orm> {
  if (database.engine === 'sqlite') {
    const dbName = isOnFile ? database.file : ':memory:'
    const entities = [Effect, SqliteInvoice]
    return (await SqliteOrm.init({ entities, dbName, connect: false })) as unknown as Orm
  }
  const { database: dbName, ...config } = database.config
  const entities = [Effect, Invoice]
  return MikroORM.init({ ...config, entities, dbName, pool: { max: 2 }, connect: false })
}

export function insertWithMikroOrm(tx: Orm['em'], eventKey: string, note: string) {
  return tx.insert(Effect, { eventKey, note })
}
