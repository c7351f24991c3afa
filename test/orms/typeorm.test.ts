import { DataSource } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { typeormTx } from '../../src/bindings/typeorm.ts'
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
import { Effect, insertWithTypeorm, Invoice, openTypeorm } from './typeorm-effects.ts'

async function bind(config: ConnectionConfig) {
  const dataSource = await openTypeorm(config)
  onTestFinished(() => dataSource.destroy())
  return typeormTx(dataSource)
}

const underTest: BindingUnderTest<EntityManager, PostgresTx> = {
  name: 'TypeORM on PostgreSQL',
  open: (worker) => openBoundTo(bind, worker),
  insert: insertWithTypeorm,
  nestsDeeper: true,
  nest: (tx, work) => tx.transaction(work),
  run: (tx, text) => tx.query(text),
}

async function openWithInvoices() {
  const bound = await underTest.open()
  await bound.query(CREATE_INVOICES)
  return bound
}

describe.skipIf(hasNoPostgres)('hookonce/typeorm', () => {
  bindingContract(underTest)
  postgresBindingContract(underTest)
  killContract(underTest, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'typeorm',
  })

  test('is the EntityManager of TypeORM, by its types and in fact', async () => {
    const { inbox } = await underTest.open()
    inbox.on('pings', '*', async (_event, { tx, sql }) => {
      expectTypeOf(tx).toEqualTypeOf<EntityManager>()
      expectTypeOf(sql).toEqualTypeOf<PostgresTx>()
    })
    inbox.steps('pings', 'other', async (_event, step) => {
      await step.tx('write', async (tx) => {
        expectTypeOf(tx).toEqualTypeOf<EntityManager>()
      })
    })

    expect(
      await inHandler(await underTest.open(), async (tx) => tx.getRepository(Effect).count()),
    ).toBe(0)
  })

  test('gives rows and their count for UPDATE and DELETE, as TypeORM does', async () => {
    const found = await inHandler(await openWithInvoices(), async (tx) => {
      await tx.insert(Invoice, [{ id: 'a' }, { id: 'b' }])
      return {
        updated: await tx.query(`update invoices set status = 'paid' returning id`),
        affected: (await tx.update(Invoice, { id: 'a' }, { status: 'open' })).affected,
        selected: await tx.query('select id from invoices where status = $1', ['open']),
        deleted: await tx.query('delete from invoices'),
      }
    })

    expect(found).toEqual({
      updated: [[{ id: 'a' }, { id: 'b' }], 2],
      affected: 1,
      selected: [{ id: 'a' }],
      deleted: [[], 2],
    })
  })

  test('writes and reads big integers, times, dates, lists and JSON', async () => {
    const bound = await openWithInvoices()

    const read = await inHandler(bound, async (tx) => {
      await tx.save(Invoice, { ...AWKWARD })
      return tx.findOneByOrFail(Invoice, { id: AWKWARD.id })
    })

    expect(read).toEqual(AWKWARD)
    const [kept] = await bound.query('select cents::text, tags, data, paid_at from invoices')
    const { cents, tags, data, paidAt } = AWKWARD
    expect(kept).toEqual({ cents, tags, data, paid_at: paidAt })
  })

  test('runs save, upsert, query builders and repositories of the data source in it', async () => {
    const bound = await openWithInvoices()
    const dataSource = await openTypeorm(bound.config as ConnectionConfig)
    onTestFinished(() => dataSource.destroy())

    await inHandler(bound, async (tx) => {
      const invoices = tx.withRepository(dataSource.getRepository(Invoice))
      await invoices.save({ id: 'a', cents: '1' })
      await invoices.upsert({ id: 'a', cents: '2' }, ['id'])
      await tx.createQueryBuilder().update(Invoice).set({ status: 'paid' }).execute()
      await tx.increment(Invoice, { id: 'a' }, 'cents', 1)
      // Committed by another connection, these would be there for it.
      expect(await bound.query('select * from invoices')).toEqual([])
    })

    expect(await bound.query('select id, status, cents from invoices')).toEqual([
      { id: 'a', status: 'paid', cents: '3' },
    ])
  })

  test('cannot be ended by its own means', async () => {
    const bound = await underTest.open()

    const codes = await inHandler(bound, async (tx) => {
      await insertWithTypeorm(tx, 'a', 'kept')
      const runner = tx.queryRunner!
      return [
        await runner.commitTransaction().then(() => 'taken', codeBehind),
        await runner.rollbackTransaction().then(() => 'taken', codeBehind),
      ]
    })

    expect(codes).toEqual(['TRANSACTION_CONTROL', 'TRANSACTION_CONTROL'])
    expect(await bound.notes()).toEqual(['kept'])
  })

  test('refuses another isolation, and has transactions that are ended by hand', async () => {
    const bound = await underTest.open()

    const code = await inHandler(bound, async (tx) => {
      const runner = tx.queryRunner!
      await runner.startTransaction()
      await insertWithTypeorm(tx, 'a', 'undone')
      await runner.rollbackTransaction()
      await runner.startTransaction()
      await insertWithTypeorm(tx, 'a', 'by hand')
      await runner.commitTransaction()
      const strict = tx.transaction('SERIALIZABLE', (inner) =>
        insertWithTypeorm(inner, 'a', 'strict'),
      )
      return strict.then(() => 'taken', codeBehind)
    })

    expect(code).toBe('TRANSACTION_CONTROL')
    expect(await bound.notes()).toEqual(['by hand'])
  })

  test('wants a data source that is initialized before the inbox is started', async () => {
    const dataSource = new DataSource({ type: 'postgres', entities: [Effect] })
    const pool = newPool({ max: 1 })
    const store = postgresStore({ pool, tx: typeormTx(dataSource) })

    await expect(store.open()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('await dataSource.initialize()') as string,
    })
  })

  test('refuses what is no data source for PostgreSQL, and says what is', () => {
    const dataSource = new DataSource({ type: 'postgres' })
    const other = Object.create(dataSource, { options: { value: { type: 'mysql' } } }) as DataSource

    // @ts-expect-error a manager is made from it
    expect(() => typeormTx(dataSource.manager)).toThrow('typeormTx must be a DataSource of TypeORM')
    // @ts-expect-error a pool is none
    expect(() => typeormTx(newPool({}))).toThrow('typeormTx must be a DataSource of TypeORM')
    expect(() => typeormTx(other)).toThrow("must be a DataSource with type: 'postgres'")
    // @ts-expect-error it is for PostgreSQL
    expect(() => sqliteStore('never-opened.db', { tx: typeormTx(dataSource) })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
    // @ts-expect-error the binding is made from it
    expect(() => postgresStore({ pool: newPool({}), tx: dataSource })).toThrow(
      'postgresStore.tx must be a binding',
    )
  })
})
