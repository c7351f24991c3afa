import { TransactionPropagation } from '@mikro-orm/postgresql'
import type { EntityManager } from '@mikro-orm/postgresql'
import { MikroORM as SqliteOrm } from '@mikro-orm/libsql'
import type { EntityManager as SqliteManager } from '@mikro-orm/libsql'
import type { Kysely } from 'kysely'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { fromMikroOrm } from '../../src/own-tx/from-mikro-orm.ts'
import type { Engine } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import type { WorkerOptions } from '../../src/work/options.ts'
import { bindingContract, postgresBindingContract } from '../bindings/binding-contract.ts'
import type { BindingUnderTest } from '../bindings/binding-contract.ts'
import { codeBehind, inHandler, openBoundSqlite, openBoundTo } from '../bindings/bound-inbox.ts'
import type { BoundInbox } from '../bindings/bound-inbox.ts'
import { killContract } from '../bindings/kill-contract.ts'
import type { KilledDatabase } from '../bindings/run-until-killed.ts'
import { hasNoPostgres, newPool } from '../support/postgres/open-postgres.ts'
import { AWKWARD, CREATE_INVOICES } from './invoices.ts'
import { Effect, insertWithMikroOrm, Invoice, INVOICES, openMikroOrm } from './mikro-orm-effects.ts'
import type { Orm } from './mikro-orm-effects.ts'
import { ownSqliteTransactionContract, ownTransactionContract } from './own-transaction-contract.ts'
import type { OwnDatabase } from './own-transaction-contract.ts'

type Bound<Sql> = BoundInbox<EntityManager, Sql> & { readonly orm: Orm }

/** The instance as well, which handlers do not get. */
interface Subject<Sql> extends BindingUnderTest<EntityManager, Sql> {
  readonly engine: Engine
  open(worker?: WorkerOptions): Promise<Bound<Sql>>
}

function underTest<Sql>(subject: Pick<Subject<Sql>, 'name' | 'engine' | 'open'>): Subject<Sql> {
  return {
    ...subject,
    insert: insertWithMikroOrm,
    nest: (tx, work) => tx.transactional(work),
    run: (tx, text) => tx.execute(text),
    asOwn: (tx) => fromMikroOrm(tx),
  }
}

async function openOrm(database: KilledDatabase): Promise<Orm> {
  const orm = await openMikroOrm(database)
  onTestFinished(() => orm.close())
  return orm
}

const onPostgres = underTest<PostgresTx>({
  name: 'MikroORM on PostgreSQL',
  engine: 'postgres',
  open: async (worker) => {
    let orm: Orm | undefined
    const bound = await openBoundTo(async (config) => {
      orm = await openOrm({ engine: 'postgres', config })
      return mikroOrmTx(orm)
    }, worker)
    return { ...bound, orm: orm as Orm }
  },
})

const onSqlite = underTest<SqliteTx>({
  name: 'MikroORM on SQLite',
  engine: 'sqlite',
  open: async (worker) => {
    const orm = await openOrm({ engine: 'sqlite', file: ':memory:' })
    return { ...(await openBoundSqlite(mikroOrmTx(orm), worker)), orm }
  },
})

const KILLED = { program: new URL('killed-process.ts', import.meta.url), library: 'mikro-orm' }

describe.skipIf(hasNoPostgres)('hookonce/mikro-orm on PostgreSQL', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, KILLED)
  mikroOrmContract(onPostgres)

  test('is the EntityManager of the driver, by its types and in fact', async () => {
    const { inbox } = await onPostgres.open()
    inbox.on('pings', '*', async (_event, { tx, sql }) => {
      expectTypeOf(tx).toExtend<EntityManager>()
      expectTypeOf(await tx.findOneOrFail(Invoice, 'a')).toExtend<Invoice>()
      // @ts-expect-error there is no such property
      tx.create(Invoice, { id: 'a', state: 'paid' })
      expectTypeOf(sql).toEqualTypeOf<PostgresTx>()
    })
    inbox.steps('pings', 'other', async (_event, step) => {
      await step.tx('write', async (tx) => {
        expectTypeOf(tx).toExtend<EntityManager>()
      })
    })
    const bound = await onPostgres.open()

    const tx = await inHandler(bound, async (em) => em)

    expect(tx).toBeInstanceOf(bound.orm.em.constructor)
  })

  test("keeps PostgreSQL's own operator ?, and expands lists", async () => {
    const bound = await onPostgres.open()
    await bound.query(CREATE_INVOICES.postgres)

    const rows = await inHandler(bound, async (em) => {
      await em.execute('insert into invoices (id, data) values (?, ?)', ['a', '{"a":"?"}'])
      return em.execute<unknown[]>(`select id from invoices where data \\? 'a' and id in (?)`, [
        ['a', 'z'],
      ])
    })

    expect(rows).toEqual([{ id: 'a' }])
    expect(await bound.query('select data from invoices')).toEqual([{ data: { a: '?' } }])
  })
})

describe('hookonce/mikro-orm on SQLite', () => {
  bindingContract(onSqlite)
  killContract(onSqlite, KILLED)
  mikroOrmContract(onSqlite)

  test('is the EntityManager of the driver, by its types and in fact', async () => {
    const orm = await SqliteOrm.init({ entities: [Effect], dbName: ':memory:', connect: false })
    const bound = await openBoundSqlite(mikroOrmTx(orm))

    const tx = await inHandler(bound, async (em, sql) => {
      expectTypeOf(em).toExtend<SqliteManager>()
      expectTypeOf(sql).toEqualTypeOf<SqliteTx>()
      return em
    })

    expect(tx).toBeInstanceOf(orm.em.constructor)
  })
})

/** What MikroORM does on either engine. */
function mikroOrmContract<Sql>(subject: Subject<Sql>): void {
  const invoices = INVOICES[subject.engine]

  async function openWithInvoices() {
    const bound = await subject.open()
    await bound.query(CREATE_INVOICES[subject.engine])
    return bound
  }

  describe(`${subject.name}: the tx of a handler`, () => {
    test('writes and reads big integers, times, dates, lists and JSON', async () => {
      const bound = await openWithInvoices()

      const read = await inHandler(bound, async (em) => {
        em.create(invoices, { ...AWKWARD })
        await em.flush()
        em.clear()
        return { ...(await em.findOneOrFail(invoices, { id: AWKWARD.id })) }
      })

      expect(read).toEqual(AWKWARD)
      const [kept] = await bound.query('select cast(cents as text) as cents from invoices')
      expect(kept).toEqual({ cents: AWKWARD.cents })
    })

    test('flushes what the handler has not flushed, in a step.tx as well', async () => {
      const { inbox, deliver, untilAll, query } = await openWithInvoices()
      await query(`insert into invoices (id) values ('a'), ('b')`)
      inbox.steps('pings', '*', async (_event, step) => {
        await step.tx('first', async (em) => {
          const invoice = await em.findOneOrFail(invoices, 'a')
          invoice.status = 'paid'
        })
        await step.tx('second', async (em) => {
          em.remove(await em.findOneOrFail(invoices, 'b'))
        })
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(await query('select id, status from invoices')).toEqual([{ id: 'a', status: 'paid' }])
    })

    test('fails the handler whose flush fails, and keeps nothing of it', async () => {
      const { inbox, deliver, untilAll, query } = await openWithInvoices()
      await query(`insert into invoices (id) values ('a')`)
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async (_event, { tx }) => {
        await tx.nativeUpdate(invoices, { id: 'a' }, { status: 'paid' })
        tx.create(invoices, { id: 'a' })
      })
      const dead = untilAll('event.dead', 1)
      await inbox.start()

      await deliver('evt_1')
      const [end] = await dead

      expect(end?.error?.name).toBe('UniqueConstraintViolationException')
      expect(await query('select status from invoices')).toEqual([{ status: 'open' }])
    })

    test('has an identity map of its own in each run', async () => {
      const { inbox, deliver, untilAll, query } = await openWithInvoices()
      await query(`insert into invoices (id, cents) values ('a', 1)`)
      const seen: unknown[] = []
      inbox.on('pings', '*', { retry: { firstMs: 0 } }, async (_event, { tx, attempt }) => {
        const invoice = await tx.findOneOrFail(invoices, 'a')
        seen.push(invoice.cents)
        invoice.cents = `${BigInt(invoice.cents) + 1n}`
        if (attempt > 1) return
        await tx.flush()
        throw new Error('after the flush')
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(seen).toEqual(['1', '1'])
      const kept = await query('select cast(cents as text) as cents from invoices')
      expect(kept).toEqual([{ cents: '2' }])
    })

    test('binds ?, and runs query builders, Knex or Kysely, and upserts in it', async () => {
      const bound = await openWithInvoices()

      const found = await inHandler(bound, async (em) => {
        await em.execute('insert into invoices (id, status) values (?, ?)', ['a', '?'])
        await em.upsert(invoices, { id: 'a', cents: '2' })
        const built = await em
          .createQueryBuilder(invoices)
          .update({ status: 'sent' })
          .where({ id: 'a', status: '?' })
          .execute()
        await pay(em)
        const [row] = await em.execute<unknown[]>('select id, status from invoices')
        return { built: built.affectedRows, row, seen: await bound.query('select * from invoices') }
      })

      expect(found).toEqual({ built: 1, row: { id: 'a', status: 'paid' }, seen: [] })
      const rows = await bound.query('select status, cast(cents as text) as cents from invoices')
      expect(rows).toEqual([{ status: 'paid', cents: '2' }])
    })

    test('lets no way to open a transaction lead past it', async () => {
      const bound = await subject.open()

      await inHandler(bound, async (em) => {
        const work = (note: string) => (inner: EntityManager) =>
          insertWithMikroOrm(inner, 'a', note)
        await em.transactional(work('new'), { propagation: TransactionPropagation.REQUIRES_NEW })
        await em.transactional(work('none'), { propagation: TransactionPropagation.NOT_SUPPORTED })
        const by = em.fork()
        await by.begin()
        await insertWithMikroOrm(by, 'a', 'undone')
        await by.rollback()
        await by.begin()
        await insertWithMikroOrm(by, 'a', 'by hand')
        await by.commit()
        // Committed by another connection, these would be there for it.
        expect(await bound.notes()).toEqual([])
      })

      expect(await bound.notes()).toEqual(['by hand', 'new', 'none'])
    })

    test('cannot be ended by its own means', async () => {
      const bound = await subject.open()

      const codes = await inHandler(bound, async (em) => {
        await insertWithMikroOrm(em, 'a', 'kept')
        return [
          await em.commit().then(() => 'taken', codeBehind),
          await em.rollback().then(() => 'taken', codeBehind),
        ]
      })

      expect(codes).toEqual(['TRANSACTION_CONTROL', 'TRANSACTION_CONTROL'])
      expect(await bound.notes()).toEqual(['kept'])
    })

    test('leaves the instance as it is, whose own manager MikroORM refuses in a handler', async () => {
      const { orm, ...bound } = await subject.open()

      await inHandler(bound, async (em) => {
        em.persist(em.create(Effect, { eventKey: 'a', note: 'kept' }))
        await expect(orm.em.findAll(Effect)).rejects.toThrow('global EntityManager')
      })

      // On SQLite the instance is in memory, and has no tables.
      if (subject.engine === 'postgres') expect(await orm.em.fork().findAll(Effect)).toHaveLength(1)
    })
  })
}

/** By what MikroORM 6 gives to build statements with, or MikroORM 7. */
async function pay(em: EntityManager | KyselyManager): Promise<void> {
  if (!('getKysely' in em)) await em.getKnex()('invoices').where({ id: 'a' }).update(PAID)
  else await em.getKysely().updateTable('invoices').set(PAID).where('id', '=', 'a').execute()
}

const PAID = { status: 'paid' }

interface KyselyManager {
  getKysely(): Kysely<{ invoices: { id: string; status: string } }>
}

/** A transaction of the user's, on the user's own connections. */
async function openOwn(database: KilledDatabase): Promise<OwnDatabase> {
  const orm = await openMikroOrm(database, { isOnFile: true })
  onTestFinished(() => orm.close())
  return {
    transact: (work) =>
      orm.em
        .fork()
        .transactional((em) => work(fromMikroOrm(em), (key) => insertWithMikroOrm(em, key, ''))),
    mistake: () => fromMikroOrm(orm.em.fork()),
  }
}

describe.skipIf(hasNoPostgres)('a transaction of MikroORM that the user has opened', () => {
  ownTransactionContract({
    name: 'MikroORM',
    open: (config) => openOwn({ engine: 'postgres', config }),
  })
})

describe('a transaction of MikroORM that the user has opened on SQLite', () => {
  ownSqliteTransactionContract({
    name: 'MikroORM',
    open: (file) => openOwn({ engine: 'sqlite', file }),
  })
})

describe('mikroOrmTx', () => {
  test('refuses what is no instance for the store, and says what is', async () => {
    const config = { host: 'localhost', port: 1, user: 'none', database: 'none' }
    const orm = await openOrm({ engine: 'postgres', config })
    const onFile = await openOrm({ engine: 'sqlite', file: ':memory:' })

    // @ts-expect-error a manager is made from it
    expect(() => mikroOrmTx(orm.em)).toThrow('mikroOrmTx must be an instance of MikroORM 6 or 7')
    expect(() => sqliteStore('never-opened.db', { tx: mikroOrmTx(orm) })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
    expect(() => postgresStore({ pool: newPool({}), tx: mikroOrmTx(onFile) })).toThrow(
      'postgresStore.tx must be a binding for postgres',
    )
    // @ts-expect-error the binding is made from it
    expect(() => postgresStore({ pool: newPool({}), tx: orm })).toThrow(
      'postgresStore.tx must be a binding',
    )
  })
})
