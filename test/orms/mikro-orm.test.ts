import { TransactionPropagation } from '@mikro-orm/postgresql'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { bindingContract, postgresBindingContract } from '../bindings/binding-contract.ts'
import type { BindingUnderTest } from '../bindings/binding-contract.ts'
import { codeBehind, inHandler, openBoundTo } from '../bindings/bound-inbox.ts'
import { killContract } from '../bindings/kill-contract.ts'
import { hasNoPostgres, newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { AWKWARD, CREATE_INVOICES } from './invoices.ts'
import { Effect, insertWithMikroOrm, Invoice, openMikroOrm } from './mikro-orm-effects.ts'

async function openWithOrm(worker = {}) {
  let orm: MikroORM | undefined
  const bound = await openBoundTo(async (config: ConnectionConfig) => {
    const made = await openMikroOrm(config)
    orm = made
    onTestFinished(() => made.close())
    return mikroOrmTx(made)
  }, worker)
  return { ...bound, orm: orm as MikroORM }
}

const underTest: BindingUnderTest<EntityManager, PostgresTx> = {
  name: 'MikroORM on PostgreSQL',
  open: openWithOrm,
  insert: insertWithMikroOrm,
  nestsDeeper: true,
  nest: (tx, work) => tx.transactional(work),
  run: (tx, text) => tx.execute(text),
}

async function openWithInvoices() {
  const bound = await openWithOrm()
  await bound.query(CREATE_INVOICES)
  return bound
}

describe.skipIf(hasNoPostgres)('hookonce/mikro-orm', () => {
  bindingContract(underTest)
  postgresBindingContract(underTest)
  killContract(underTest, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'mikro-orm',
  })

  test('is the EntityManager of the driver, by its types and in fact', async () => {
    const { inbox } = await openWithOrm()
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
    const bound = await openWithOrm()

    const tx = await inHandler(bound, async (em) => em)

    expect(tx).toBeInstanceOf(bound.orm.em.constructor)
  })

  test('writes and reads big integers, times, dates, lists and JSON', async () => {
    const bound = await openWithInvoices()

    const read = await inHandler(bound, async (em) => {
      em.create(Invoice, { ...AWKWARD })
      await em.flush()
      em.clear()
      return { ...(await em.findOneOrFail(Invoice, { id: AWKWARD.id })) }
    })

    expect(read).toEqual(AWKWARD)
    const [kept] = await bound.query('select cents::text, tags, data, paid_at from invoices')
    const { cents, tags, data, paidAt } = AWKWARD
    expect(kept).toEqual({ cents, tags, data, paid_at: paidAt })
  })

  test('flushes what the handler has not flushed, in a step.tx as well', async () => {
    const { inbox, deliver, untilAll, query } = await openWithInvoices()
    await query(`insert into invoices (id) values ('a'), ('b')`)
    inbox.steps('pings', '*', async (_event, step) => {
      await step.tx('first', async (em) => {
        const invoice = await em.findOneOrFail(Invoice, 'a')
        invoice.status = 'paid'
      })
      await step.tx('second', async (em) => {
        em.remove(await em.findOneOrFail(Invoice, 'b'))
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
      await tx.nativeUpdate(Invoice, { id: 'a' }, { status: 'paid' })
      tx.create(Invoice, { id: 'a' })
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
      const invoice = await tx.findOneOrFail(Invoice, 'a')
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
    expect(await query('select cents from invoices')).toEqual([{ cents: '2' }])
  })

  test('binds ?, and runs query builders, Knex and upserts in it', async () => {
    const bound = await openWithInvoices()

    const found = await inHandler(bound, async (em) => {
      await em.execute('insert into invoices (id, data) values (?, ?)', ['a', '{"a":"?"}'])
      await em.upsert(Invoice, { id: 'a', cents: '2' })
      await em.createQueryBuilder(Invoice).update({ status: 'sent' }).where({ id: 'a' }).execute()
      await em.getKnex()('invoices').where({ id: 'a' }).update({ status: 'paid' })
      const [row] = await em.execute<unknown[]>(
        `select cents, status from invoices where data \\? 'a' and id in (?)`,
        [['a', 'z']],
      )
      return { row, seen: await bound.query('table invoices') }
    })

    expect(found).toEqual({ row: { cents: '2', status: 'paid' }, seen: [] })
    expect(await bound.query('select status, data from invoices')).toEqual([
      { status: 'paid', data: { a: '?' } },
    ])
  })

  test('lets no way to open a transaction lead past it', async () => {
    const bound = await openWithOrm()

    await inHandler(bound, async (em) => {
      const work = (note: string) => (inner: EntityManager) => insertWithMikroOrm(inner, 'a', note)
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
    const bound = await openWithOrm()

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
    const { orm, ...bound } = await openWithOrm()

    await inHandler(bound, async (em) => {
      em.persist(em.create(Effect, { eventKey: 'a', note: 'kept' }))
      await expect(orm.em.findAll(Effect)).rejects.toThrow('global EntityManager')
    })

    expect(await orm.em.fork().findAll(Effect)).toHaveLength(1)
  })

  test('refuses what is no instance for PostgreSQL, and says what is', async () => {
    const { orm } = await openWithOrm()

    // @ts-expect-error a manager is made from it
    expect(() => mikroOrmTx(orm.em)).toThrow('mikroOrmTx must be an instance of MikroORM 6')
    // @ts-expect-error a pool is none
    expect(() => mikroOrmTx(newPool({}))).toThrow('mikroOrmTx must be an instance of MikroORM 6')
    // @ts-expect-error it is for PostgreSQL
    expect(() => sqliteStore('never-opened.db', { tx: mikroOrmTx(orm) })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
    // @ts-expect-error the binding is made from it
    expect(() => postgresStore({ pool: newPool({}), tx: orm })).toThrow(
      'postgresStore.tx must be a binding',
    )
  })
})
