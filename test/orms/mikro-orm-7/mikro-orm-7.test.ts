/** What only version 7 has. The rest is `../mikro-orm.test.ts`, which is run with it as well. */

import { MikroORM as SqliteOrm } from '@mikro-orm/libsql'
import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import type { EntityManager } from '@mikro-orm/postgresql'
import { PostgresDialect } from 'kysely'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { mikroOrmTx } from '../../../src/bindings/mikro-orm.ts'
import { codeBehind, inHandler, openBoundSqlite, openBoundTo } from '../../bindings/bound-inbox.ts'
import { hasNoPostgres, newPool } from '../../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'

const Effect = defineEntity({
  name: 'Effect',
  tableName: 'effects',
  properties: { eventKey: p.text().primary(), note: p.text().primary() },
})

/** `driverOptions` in place of a connection of its own. */
async function openOrm({ database, ...config }: ConnectionConfig, driverOptions = {}) {
  const entities = [Effect]
  const orm = await MikroORM.init({ ...config, dbName: database, entities, driverOptions })
  onTestFinished(() => orm.close())
  return orm
}

describe.skipIf(hasNoPostgres)('hookonce/mikro-orm on PostgreSQL, with MikroORM 7', () => {
  test('is the EntityManager of the driver, by its types and in fact', async () => {
    const bound = await openBoundTo(async (config) => mikroOrmTx(await openOrm(config)))
    bound.inbox.on('pings', 'typed', async (_event, { tx }) => {
      expectTypeOf(tx).toExtend<EntityManager>()
      // @ts-expect-error there is no such property
      tx.create(Effect, { eventKey: 'a', nosuch: 'b' })
    })

    const seen = await inHandler(bound, async (em) => {
      await em.insert(Effect, { eventKey: 'a', note: 'by the manager' })
      const values = { event_key: 'a', note: 'by Kysely, of a fork' }
      await em.fork().getKysely<Tables>().insertInto('effects').values(values).execute()
      return bound.notes()
    })

    expect(seen).toEqual([])
    expect(await bound.notes()).toEqual(['by Kysely, of a fork', 'by the manager'])
  })

  test('leaves a dialect of the user alone', async () => {
    let pool = newPool({})
    const bound = await openBoundTo(async (config) => {
      pool = newPool({ ...config, max: 1 })
      return mikroOrmTx(await openOrm(config, new PostgresDialect({ pool })))
    })
    const asked = pool.totalCount

    const seen = await inHandler(bound, async (em) => {
      await em.insert(Effect, { eventKey: 'a', note: 'kept' })
      await em.transactional((inner) => inner.insert(Effect, { eventKey: 'a', note: 'nested' }))
      return bound.notes()
    })

    expect(seen).toEqual([])
    expect(await bound.notes()).toEqual(['kept', 'nested'])
    expect(pool.totalCount).toBe(asked)
  })

  test('refuses to read in pieces', async () => {
    const bound = await openBoundTo(async (config) => mikroOrmTx(await openOrm(config)))

    const code = await inHandler(bound, async (em) => {
      const rows = em.stream(Effect)
      return rows.next().then(() => 'taken', codeBehind)
    })

    expect(code).toBe('OPTION_INVALID')
  })
})

test('hookonce/mikro-orm on SQLite reads in one piece what MikroORM 7 would read in many', async () => {
  const orm = await SqliteOrm.init({ entities: [Effect], dbName: ':memory:' })
  onTestFinished(() => orm.close())
  const bound = await openBoundSqlite(mikroOrmTx(orm))

  const notes = await inHandler(bound, async (em) => {
    for (const note of ['first', 'second']) await em.insert(Effect, { eventKey: 'a', note })
    const found: string[] = []
    for await (const row of em.stream(Effect)) found.push(row.note)
    return found.toSorted()
  })

  expect(notes).toEqual(['first', 'second'])
})

interface Tables {
  effects: { event_key: string; note: string }
}
