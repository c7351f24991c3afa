import { AsyncLocalStorage } from 'node:async_hooks'
import { DatabaseError, DataTypes, Sequelize, Transaction, UniqueConstraintError } from 'sequelize'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { sequelizeTx } from '../../src/bindings/sequelize.ts'
import { fromSequelize } from '../../src/own-tx/from-sequelize.ts'
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
import { insertWithSequelize, openSequelize } from './sequelize-effects.ts'

type Opened = ReturnType<typeof openSequelize>

/** Its models as well, which handlers get from where they are defined. */
interface Subject<Sql> extends BindingUnderTest<Transaction, Sql> {
  readonly engine: Engine
  open(worker?: WorkerOptions): Promise<BoundInbox<Transaction, Sql> & Opened>
}

function underTest<Sql>(subject: Pick<Subject<Sql>, 'name' | 'engine' | 'open'>): Subject<Sql> {
  return {
    ...subject,
    insert: insertWithSequelize,
    nest: (transaction, work) => sequelizeOf(transaction).transaction({ transaction }, work),
    run: (transaction, text) => sequelizeOf(transaction).query(text, { transaction }),
    asOwn: (transaction) => fromSequelize(sequelizeOf(transaction), transaction),
  }
}

function openModels(database: KilledDatabase): Opened {
  const opened = openSequelize(database)
  onTestFinished(() => opened.sequelize.close())
  return opened
}

const onPostgres = underTest<PostgresTx>({
  name: 'Sequelize on PostgreSQL',
  engine: 'postgres',
  open: async (worker) => {
    let opened: Opened | undefined
    const bound = await openBoundTo(async (config) => {
      opened = openModels({ engine: 'postgres', config })
      return sequelizeTx(opened.sequelize)
    }, worker)
    return { ...bound, ...(opened as Opened) }
  },
})

const onSqlite = underTest<SqliteTx>({
  name: 'Sequelize on SQLite',
  engine: 'sqlite',
  open: async (worker) => {
    // Its own database, which handlers do not write to.
    const opened = openModels({ engine: 'sqlite', file: ':memory:' })
    await opened.Effects.sync()
    return { ...(await openBoundSqlite(sequelizeTx(opened.sequelize), worker)), ...opened }
  },
})

const KILLED = { program: new URL('killed-process.ts', import.meta.url), library: 'sequelize' }

function sequelizeOf(transaction: Transaction): Sequelize {
  return (transaction as unknown as { sequelize: Sequelize }).sequelize
}

describe.skipIf(hasNoPostgres)('hookonce/sequelize on PostgreSQL', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, KILLED)
  sequelizeContract(onPostgres)

  test('is a Transaction of Sequelize, by its types and in fact', async () => {
    const { inbox } = await onPostgres.open()
    inbox.on('pings', '*', async (_event, { tx, sql }) => {
      expectTypeOf(tx).toEqualTypeOf<Transaction>()
      expectTypeOf(sql).toEqualTypeOf<PostgresTx>()
    })
    inbox.steps('pings', 'other', async (_event, step) => {
      await step.tx('write', async (tx) => {
        expectTypeOf(tx).toEqualTypeOf<Transaction>()
      })
    })

    expect(await inHandler(await onPostgres.open(), async (tx) => tx)).toBeInstanceOf(Transaction)
  })

  test('reads lists of enums, whose numbers a server gives itself', async () => {
    const bound = await onPostgres.open()
    await bound.query(`create type mood as enum ('calm', 'so so')`)

    const found = await inHandler(bound, async (transaction) => {
      const [rows] = await bound.sequelize.query(
        `select array['calm', 'so so']::mood[] as moods, '[1,2)'::int4range as range`,
        { transaction },
      )
      return rows
    })

    expect(found).toMatchObject([{ moods: ['calm', 'so so'], range: [{ value: 1 }, { value: 2 }] }])
  })

  test('loses no attempt to a deadlock, though Sequelize wraps what the driver says of it', async () => {
    const { inbox, deliver, untilAll, notes, sequelize } = await onPostgres.open()
    const attempts: number[] = []
    const errors: unknown[] = []
    inbox.on('pings', '*', async ({ key }, { tx: transaction, attempt }) => {
      attempts.push(attempt)
      await insertWithSequelize(transaction, key, `run ${attempts.length}`)
      if (attempts.length > 1) return
      const deadlock = `do $$ begin raise exception 'as if' using errcode = '40P01'; end $$`
      await sequelize.query(deadlock, { transaction }).catch((error: unknown) => {
        errors.push(error)
        throw error
      })
    })
    const done = untilAll('event.done', 1)
    await inbox.start()

    await deliver('evt_1')
    await done

    expect(errors).toEqual([expect.any(DatabaseError)])
    expect(attempts).toEqual([1, 1])
    expect(await notes()).toEqual(['run 2'])
  })
})

describe('hookonce/sequelize on SQLite', () => {
  bindingContract(onSqlite)
  killContract(onSqlite, KILLED)
  sequelizeContract(onSqlite)

  test('is a Transaction of Sequelize, by its types and in fact', async () => {
    const tx = await inHandler(await onSqlite.open(), async (given, sql) => {
      expectTypeOf(given).toEqualTypeOf<Transaction>()
      expectTypeOf(sql).toEqualTypeOf<SqliteTx>()
      return given
    })

    expect(tx).toBeInstanceOf(Transaction)
  })

  test('numbers rows, binds names, and tells of what fails as Sequelize does', async () => {
    const { sequelize, Invoices, ...bound } = await onSqlite.open()
    await bound.query(CREATE_INVOICES.sqlite)
    await bound.query('create table counted (id integer primary key, note text)')
    const Counted = sequelize.define(
      'counted',
      {
        id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
        note: DataTypes.TEXT,
      },
      { tableName: 'counted' },
    )

    const found = await inHandler(bound, async (transaction) => {
      const one = await Counted.create({ note: 'one' }, { transaction })
      await Counted.bulkCreate([{ note: 'two' }, { note: 'three' }], { transaction })
      const [rows] = await sequelize.query(
        'select $note as note, count(*) as n from counted where note <> $note',
        { bind: { note: 'one' }, transaction },
      )
      const [, told] = await sequelize.query(`update counted set note = 'all'`, { transaction })
      await Invoices.create({ id: 'a' }, { transaction })
      const twice = Invoices.create({ id: 'a' }, { transaction })
      return {
        id: one.get('id'),
        rows,
        changes: (told as { changes: number }).changes,
        error: await twice.catch((error: unknown) => error),
      }
    })

    expect(found).toMatchObject({ id: 1, rows: [{ note: 'one', n: 2 }], changes: 3 })
    expect(found.error).toBeInstanceOf(UniqueConstraintError)
  })
})

/** What Sequelize does on either engine. */
function sequelizeContract<Sql>(subject: Subject<Sql>): void {
  async function openWithInvoices() {
    const bound = await subject.open()
    await bound.query(CREATE_INVOICES[subject.engine])
    return bound
  }

  describe(`${subject.name}: the tx of a handler`, () => {
    test('writes and reads big integers, times, dates, lists and JSON', async () => {
      const { Invoices, ...bound } = await openWithInvoices()

      const read = await inHandler(bound, async (transaction) => {
        await Invoices.create({ ...AWKWARD }, { transaction })
        const found = await Invoices.findByPk(AWKWARD.id, { transaction, rejectOnEmpty: true })
        return found.get({ plain: true })
      })

      // On SQLite Sequelize reads it as it comes.
      expect({ ...read, cents: String(read.cents) }).toEqual(AWKWARD)
      const [kept] = await bound.query('select cast(cents as text) as cents from invoices')
      expect(kept).toEqual({ cents: AWKWARD.cents })
    })

    test('runs models, upserts, findOrCreate and bound values in it', async () => {
      const { Invoices, sequelize, ...bound } = await openWithInvoices()

      const found = await inHandler(bound, async (transaction) => {
        const invoice = await Invoices.create({ id: 'a' }, { transaction })
        await invoice.update({ status: 'sent' }, { transaction })
        await Invoices.upsert({ id: 'a', cents: '2' }, { transaction })
        const [, isMade] = await Invoices.findOrCreate({ where: { id: 'b' }, transaction })
        const [, isMadeAgain] = await Invoices.findOrCreate({ where: { id: 'b' }, transaction })
        await Invoices.findCreateFind({ where: { id: 'c' }, transaction })
        const [affected] = await Invoices.update({ status: 'paid' }, { where: {}, transaction })
        const [rows] = await sequelize.query('select id from invoices where id in ($1, $2)', {
          bind: ['z', 'a'],
          transaction,
        })
        return {
          isMade,
          isMadeAgain,
          affected,
          rows,
          seen: await bound.query('select * from invoices'),
        }
      })

      expect(found).toEqual({
        isMade: true,
        isMadeAgain: false,
        affected: 3,
        rows: [{ id: 'a' }],
        seen: [],
      })
      expect(await bound.query('select id, status from invoices order by id')).toEqual([
        { id: 'a', status: 'paid' },
        { id: 'b', status: 'paid' },
        { id: 'c', status: 'paid' },
      ])
    })

    test('fails the handler where a call was not passed the transaction, and nothing is written', async () => {
      const { inbox, deliver, untilAll, notes, Effects, sequelize } = await subject.open()
      const codes: unknown[] = []
      const note = async (call: Promise<unknown>) => codes.push(await call.catch(codeBehind))
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async ({ key }) => {
        await note(sequelize.query('select 1'))
        await note(sequelize.transaction().then((opened) => opened.rollback()))
        await Effects.create({ eventKey: key, note: 'outside' })
      })
      const ended = Promise.race([untilAll('event.dead', 1), untilAll('event.done', 1)])
      await inbox.start()

      await deliver('evt_1')
      const [end] = await ended

      expect(codes).toEqual(['TRANSACTION_EXPECTED', 'TRANSACTION_EXPECTED'])
      expect(end).toMatchObject({ error: { code: 'TRANSACTION_EXPECTED' } })
      expect(await notes()).toEqual([])
      await Effects.create({ eventKey: 'a', note: 'not in a handler' })
      expect(await Effects.count()).toBe(1)
    })

    test('refuses it in a step.tx as well, and lets the handler do it beside one', async () => {
      const { inbox, deliver, untilAll, notes, Effects } = await subject.open()
      const codes: unknown[] = []
      inbox.steps('pings', '*', async ({ key }, step) => {
        await step.tx('write', async (transaction) => {
          const outside = Effects.create({ eventKey: key, note: 'outside' })
          codes.push(await outside.catch(codeBehind))
          await Effects.create({ eventKey: key, note: 'inside' }, { transaction })
        })
        codes.push(await Effects.findAll().then(() => 'read', codeBehind))
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(codes).toEqual(['TRANSACTION_EXPECTED', 'read'])
      expect(await notes()).toEqual(['inside'])
    })

    test('is what calls have by themselves where CLS is on', async () => {
      useCls()
      const { inbox, deliver, untilAll, notes, Effects, sequelize } = await subject.open()
      inbox.on('pings', '*', { retry: { firstMs: 0 } }, async ({ key }, { attempt }) => {
        await Effects.create({ eventKey: key, note: `attempt ${attempt}` })
        await Effects.findOrCreate({ where: { eventKey: key, note: 'found' } })
        const undone = sequelize.transaction({ transaction: currentOf(sequelize) }, async () => {
          await Effects.create({ eventKey: key, note: 'undone' })
          throw new Error('inside')
        })
        await expect(undone).rejects.toThrow('inside')
        if (attempt === 1) throw new Error('after the write')
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(await notes()).toEqual(['attempt 2', 'found'])
    })

    test('cannot be ended by its own means, and has nothing to do after a COMMIT', async () => {
      const bound = await subject.open()

      const codes = await inHandler(bound, async (tx) => {
        await insertWithSequelize(tx, 'a', 'kept')
        const ends = [
          tx.commit(),
          tx.rollback(),
          Promise.resolve().then(() => tx.afterCommit(stay)),
        ]
        return Promise.all(ends.map((end) => end.then(() => 'taken', codeBehind)))
      })

      expect(codes).toEqual(Array.from({ length: 3 }, () => 'TRANSACTION_CONTROL'))
      expect(await bound.notes()).toEqual(['kept'])
    })

    test('has transactions in it that are ended by hand', async () => {
      const bound = await subject.open()

      await inHandler(bound, async (transaction) => {
        const undone = await bound.sequelize.transaction({ transaction })
        await insertWithSequelize(undone, 'a', 'undone')
        await undone.rollback()
        const kept = await bound.sequelize.transaction({ transaction })
        await insertWithSequelize(kept, 'a', 'by hand')
        await kept.commit()
        await expect(kept.rollback()).rejects.toThrow('has ended before, by commit')
      })

      expect(await bound.notes()).toEqual(['by hand'])
    })
  })
}

describe('sequelizeTx', () => {
  test('refuses what is no instance for the store, and says what is', async () => {
    const config = { host: 'localhost', port: 1, user: 'none', database: 'none' }
    const { sequelize } = openModels({ engine: 'postgres', config })
    const onFile = openModels({ engine: 'sqlite', file: ':memory:' }).sequelize
    const other = Object.create(sequelize, { getDialect: { value: () => 'mysql' } }) as Sequelize

    expect(() => sequelizeTx(Sequelize as never)).toThrow('must be an instance of Sequelize 6')
    expect(() => sequelizeTx(other)).toThrow(
      "must be an instance with dialect: 'postgres' or 'sqlite'",
    )
    expect(() => sqliteStore('never-opened.db', { tx: sequelizeTx(sequelize) })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
    expect(() => postgresStore({ pool: newPool({}), tx: sequelizeTx(onFile) })).toThrow(
      'postgresStore.tx must be a binding for postgres',
    )
    // @ts-expect-error the binding is made from it
    expect(() => postgresStore({ pool: newPool({}), tx: sequelize })).toThrow(
      'postgresStore.tx must be a binding',
    )
  })
})

function stay(): void {}

/** As cls-hooked does it, for the length of the running test. */
function useCls(): void {
  const contexts = new AsyncLocalStorage<Map<string, unknown>>()
  Sequelize.useCLS({
    run: (work: () => unknown) => contexts.run(new Map(contexts.getStore()), work),
    get: (key: string) => contexts.getStore()?.get(key),
    set: (key: string, value: unknown) => contexts.getStore()?.set(key, value),
    bind: (work: unknown) => work,
  })
  onTestFinished(() => {
    Reflect.deleteProperty(Sequelize, '_cls')
  })
}

function currentOf(sequelize: Sequelize): Transaction {
  const { _cls: cls } = sequelize.constructor as unknown as {
    _cls: { get(key: string): Transaction }
  }
  return cls.get('transaction')
}
