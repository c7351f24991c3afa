import { DataSource } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { typeormTx } from '../../src/bindings/typeorm.ts'
import { fromTypeorm } from '../../src/own-tx/from-typeorm.ts'
import type { Engine } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { bindingContract, postgresBindingContract } from '../bindings/binding-contract.ts'
import type { BindingUnderTest } from '../bindings/binding-contract.ts'
import { codeBehind, inHandler, openBoundSqlite, openBoundTo } from '../bindings/bound-inbox.ts'
import { killContract } from '../bindings/kill-contract.ts'
import type { KilledDatabase } from '../bindings/run-until-killed.ts'
import { hasNoPostgres, newPool } from '../support/postgres/open-postgres.ts'
import { AWKWARD, CREATE_INVOICES } from './invoices.ts'
import { ListedLibsql } from './listed-libsql.ts'
import { Effect, insertWithTypeorm, INVOICES, openTypeorm } from './typeorm-effects.ts'

function underTest<Sql>(
  name: string,
  open: BindingUnderTest<EntityManager, Sql>['open'],
): BindingUnderTest<EntityManager, Sql> {
  return {
    name,
    open,
    insert: insertWithTypeorm,
    nest: (tx, work) => tx.transaction(work),
    run: (tx, text) => tx.query(text),
    asOwn: (tx) => fromTypeorm(tx),
  }
}

async function bind(database: KilledDatabase) {
  const dataSource = await openTypeorm(database)
  onTestFinished(() => dataSource.destroy())
  return typeormTx(dataSource)
}

const IN_MEMORY = { engine: 'sqlite', file: ':memory:' } as const
const onPostgres = underTest<PostgresTx>('TypeORM on PostgreSQL', (worker) =>
  openBoundTo((config) => bind({ engine: 'postgres', config }), worker),
)
const onSqlite = underTest<SqliteTx>('TypeORM on SQLite', async (worker) =>
  openBoundSqlite(await bind(IN_MEMORY), worker),
)
const KILLED = { program: new URL('killed-process.ts', import.meta.url), library: 'typeorm' }

describe.skipIf(hasNoPostgres)('hookonce/typeorm on PostgreSQL', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, KILLED)
  typeormContract(onPostgres, 'postgres')

  test('is the EntityManager of TypeORM, by its types and in fact', async () => {
    const { inbox } = await onPostgres.open()
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
      await inHandler(await onPostgres.open(), async (tx) => tx.getRepository(Effect).count()),
    ).toBe(0)
  })

  test('gives rows and their count for UPDATE and DELETE, as TypeORM does', async () => {
    const bound = await onPostgres.open()
    await bound.query(CREATE_INVOICES.postgres)
    const { postgres: Invoice } = INVOICES

    const found = await inHandler(bound, async (tx) => {
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
})

describe('hookonce/typeorm on SQLite', () => {
  bindingContract(onSqlite)
  killContract(onSqlite, KILLED)
  typeormContract(onSqlite, 'sqlite')

  test('is the EntityManager of TypeORM, by its types and in fact', async () => {
    const { inbox } = await onSqlite.open()
    inbox.on('pings', '*', async (_event, { tx, sql }) => {
      expectTypeOf(tx).toEqualTypeOf<EntityManager>()
      expectTypeOf(sql).toEqualTypeOf<SqliteTx>()
    })

    expect(
      await inHandler(await onSqlite.open(), async (tx) => tx.getRepository(Effect).count()),
    ).toBe(0)
  })

  test('gives rows, or the id of the last one, as TypeORM does there', async () => {
    const bound = await onSqlite.open()
    await bound.query(CREATE_INVOICES.sqlite)
    const { sqlite: Invoice } = INVOICES

    const found = await inHandler(bound, async (tx) => {
      await tx.insert(Invoice, [{ id: 'a' }, { id: 'b' }])
      return {
        returned: await tx.query(`update invoices set status = 'paid' returning id`),
        affected: (await tx.update(Invoice, { id: 'a' }, { status: 'open' })).affected,
        selected: await tx.query('select id from invoices where status = ?', ['open']),
        none: await tx.query('with some as (select 1) select * from some where false'),
        inserted: await tx.query(`insert into invoices (id) values ('c')`),
        deleted: (await tx.delete(Invoice, ['a', 'b', 'c'])).affected,
      }
    })

    expect(found).toEqual({
      returned: [{ id: 'a' }, { id: 'b' }],
      affected: 1,
      selected: [{ id: 'a' }],
      none: [],
      inserted: 3,
      deleted: 3,
    })
  })

  test('tells of what fails as TypeORM does, and leaves the data source as it is', async () => {
    const dataSource = await openTypeorm(IN_MEMORY)
    onTestFinished(() => dataSource.destroy())
    const own = dataSource.createQueryRunner()
    const bound = await openBoundSqlite(typeormTx(dataSource))
    await bound.query(CREATE_INVOICES.sqlite)

    await own.query(CREATE_INVOICES.sqlite)
    const insertTwice = async (manager: EntityManager) => {
      await manager.insert(INVOICES.sqlite, { id: 'a' })
      return manager.insert(INVOICES.sqlite, { id: 'a' }).catch((error: unknown) => error)
    }

    const failed = await inHandler(bound, insertTwice)
    const itsOwn = (await insertTwice(own.manager)) as Error

    expect(itsOwn.message).toContain('UNIQUE constraint failed: invoices.id')
    expect(failed).toMatchObject({ name: 'QueryFailedError', message: itsOwn.message })
    // A data source has one runner for SQLite, and ours is another.
    expect(dataSource.createQueryRunner()).toBe(own)
    expect(own.isTransactionActive).toBe(false)
  })

  test('gives no caller the connection of the data source', async () => {
    const codes = await inHandler(await onSqlite.open(), async (tx) => {
      const connection = (await tx.queryRunner!.connect()) as InstanceType<typeof ListedLibsql>
      const ways: (() => unknown)[] = [
        () => connection.exec('commit'),
        () => connection.prepare('select 1'),
      ]
      return Promise.all(ways.map((way) => Promise.resolve().then(way).catch(codeBehind)))
    })

    expect(codes).toEqual(['TRANSACTION_CONTROL', 'TRANSACTION_CONTROL'])
  })
})

/** What TypeORM does on either engine. */
function typeormContract<Sql>(subject: BindingUnderTest<EntityManager, Sql>, engine: Engine): void {
  const Invoice = INVOICES[engine]

  async function openWithInvoices() {
    const bound = await subject.open()
    await bound.query(CREATE_INVOICES[engine])
    return bound
  }

  describe(`${subject.name}: the tx of a handler`, () => {
    test('writes and reads big integers, times, dates, lists and JSON', async () => {
      const bound = await openWithInvoices()

      const read = await inHandler(bound, async (tx) => {
        await tx.save(Invoice, { ...AWKWARD })
        return tx.findOneByOrFail(Invoice, { id: AWKWARD.id })
      })

      // SQLite has no type that TypeORM would read as a text.
      expect({ ...read, cents: String(read.cents) }).toEqual(AWKWARD)
      const [kept] = await bound.query('select cast(cents as text) as cents from invoices')
      expect(kept).toEqual({ cents: AWKWARD.cents })
    })

    test('runs save, upsert, query builders and repositories of the data source in it', async () => {
      const bound = await openWithInvoices()
      const { config, file = '' } = bound
      const dataSource = await openTypeorm(
        config === undefined ? { engine: 'sqlite', file } : { engine: 'postgres', config },
      )
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

      const rows = await bound.query(
        'select id, status, cast(cents as text) as cents from invoices',
      )
      expect(rows).toEqual([{ id: 'a', status: 'paid', cents: '3' }])
    })

    test('cannot be ended by its own means', async () => {
      const bound = await subject.open()

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
      const bound = await subject.open()

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
  })
}

describe('typeormTx', () => {
  test('wants a data source that is initialized before the inbox is started', async () => {
    const dataSource = new DataSource({ type: 'postgres', entities: [Effect] })
    const pool = newPool({ max: 1 })
    const store = postgresStore({ pool, tx: typeormTx(dataSource) })

    await expect(store.open()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('await dataSource.initialize()') as string,
    })
  })

  test('refuses what is no data source for the store, and says what is', () => {
    const dataSource = new DataSource({ type: 'postgres' })
    const onFile = new DataSource({
      type: 'better-sqlite3',
      driver: ListedLibsql,
      database: ':memory:',
    })
    const other = Object.create(dataSource, { options: { value: { type: 'mysql' } } }) as DataSource

    // @ts-expect-error a manager is made from it
    expect(() => typeormTx(dataSource.manager)).toThrow('typeormTx must be a DataSource of TypeORM')
    expect(() => typeormTx(other)).toThrow(
      "must be a DataSource with type: 'postgres' or 'better-sqlite3'",
    )
    expect(() => sqliteStore('never-opened.db', { tx: typeormTx(dataSource) })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
    expect(() => postgresStore({ pool: newPool({}), tx: typeormTx(onFile) })).toThrow(
      'postgresStore.tx must be a binding for postgres',
    )
    // @ts-expect-error the binding is made from it
    expect(() => postgresStore({ pool: newPool({}), tx: dataSource })).toThrow(
      'postgresStore.tx must be a binding',
    )
  })
})
