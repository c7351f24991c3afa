import knex from 'knex'
import type { Knex } from 'knex'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { knexTx } from '../../src/bindings/knex.ts'
import type { KnexTxOptions } from '../../src/bindings/knex.ts'
import { fromKnex } from '../../src/own-tx/from-knex.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { bindingContract, postgresBindingContract } from './binding-contract.ts'
import type { BindingUnderTest } from './binding-contract.ts'
import { killContract } from './kill-contract.ts'
import { codeBehind, inHandler, openBoundPostgres, openBoundSqlite } from './bound-inbox.ts'

type Tx = Knex.Transaction

function underTest<Sql>(
  name: string,
  open: BindingUnderTest<Tx, Sql>['open'],
): BindingUnderTest<Tx, Sql> {
  return {
    name,
    open,
    insert: async (tx, key, note) => tx('effects').insert({ event_key: key, note }),
    nest: async (tx, work) => tx.transaction((inner) => work(inner)),
    run: async (tx, text) => {
      await tx.raw(text)
    },
    asOwn: (tx) => fromKnex(tx),
  }
}

const onPostgres = {
  ...underTest<PostgresTx>('Knex on PostgreSQL', (worker) => openBoundPostgres(knexTx(), worker)),
  withOptions: (options: KnexTxOptions) => openBoundPostgres(knexTx(options)),
}
const onSqlite = {
  ...underTest<SqliteTx>('Knex on SQLite', (worker) => openBoundSqlite(knexTx(), worker)),
  withOptions: (options: KnexTxOptions) => openBoundSqlite(knexTx(options)),
}

function knexContract<Sql>(
  subject: BindingUnderTest<Tx, Sql> & {
    withOptions(options: KnexTxOptions): ReturnType<BindingUnderTest<Tx, Sql>['open']>
  },
  elsewhere: { readonly client: string; readonly serial: string },
): void {
  describe(`${subject.name}: the tx of a handler`, () => {
    test('takes over a query of another knex by transacting(tx)', async () => {
      const bound = await subject.open()
      // It has no connection at all: what did not move would fail.
      const other = knex({ client: elsewhere.client, useNullAsDefault: true })

      await inHandler(bound, async (tx) => {
        await other('effects').insert({ event_key: 'a', note: 'moved' }).transacting(tx)
      })

      expect(await bound.notes()).toEqual(['moved'])
    })

    test('has the options that are about statements', async () => {
      const bound = await subject.withOptions({
        wrapIdentifier: (name, wrap) => wrap(name.replace('eventKey', 'event_key')),
        postProcessResponse: (rows: object[]) => ({ rows }),
      })

      const found = await inHandler(bound, async (tx) => {
        await tx('effects').insert({ eventKey: 'a', note: 'named' })
        return (await tx('effects').select('note')) as unknown
      })

      expect(found).toEqual({ rows: [{ note: 'named' }] })
    })

    test('binds ? and names, and lets an escaped ? be', async () => {
      const found = await inHandler(await subject.open(), async (tx) => {
        await tx('effects').insert([{ event_key: 'a', note: 'what\\?' }, { event_key: 'b' }])
        const rows = await tx('effects')
          .whereRaw('event_key = ? or event_key = ?', ['a', 'z'])
          .select('note')
        const named = await tx('effects')
          .whereRaw('event_key = :key', { key: 'b' })
          .first<{ note: null }>()
        return { rows, named: named?.note, all: await tx('effects').pluck('event_key') }
      })

      expect(found).toEqual({ rows: [{ note: 'what\\?' }], named: null, all: ['a', 'b'] })
    })

    test('counts what it changes, and returns what it is asked for', async () => {
      const bound = await subject.open()
      await bound.query(`create table invoices (id ${elsewhere.serial}, paid int)`)

      const found = await inHandler(bound, async (tx) => ({
        inserted: await tx('invoices')
          .insert([{ paid: 0 }, { paid: 0 }])
          .returning('id'),
        updated: await tx('invoices').update({ paid: 1 }),
        deleted: await tx('invoices').where({ id: 1 }).del(),
        upserted: await tx('invoices')
          .insert({ id: 2, paid: 2 })
          .onConflict('id')
          .merge()
          .returning('paid'),
        counted: Number((await tx('invoices').count({ n: '*' }))[0]?.['n']),
      }))

      expect(found).toEqual({
        inserted: [{ id: 1 }, { id: 2 }],
        updated: 2,
        deleted: 1,
        upserted: [{ paid: 2 }],
        counted: 1,
      })
    })

    test('keeps every digit of big integers, given as texts and as bigint', async () => {
      const bound = await subject.open()
      await bound.query('create table totals (id int, cents bigint)')

      const read = await inHandler(bound, async (tx) => {
        await tx('totals').insert([
          { id: 1, cents: '9007199254740993' },
          { id: 2, cents: 9_007_199_254_740_993n },
        ])
        return tx('totals').where('cents', '9007199254740993').orderBy('id').select('cents')
      })

      expect(read.map(({ cents }: { cents: unknown }) => String(cents))).toEqual([
        '9007199254740993',
        '9007199254740993',
      ])
      const kept = await bound.query('select cast(cents as text) as cents from totals order by id')
      expect(kept).toEqual([{ cents: '9007199254740993' }, { cents: '9007199254740993' }])
    })

    test('cannot be ended by its own means', async () => {
      const bound = await subject.open()

      const codes = await inHandler(bound, async (tx) => {
        await subject.insert(tx, 'a', 'kept')
        const ends = [tx.commit(), tx.rollback()] as unknown as Promise<unknown>[]
        return Promise.all(ends.map((end) => end.then(() => 'taken', codeBehind)))
      })

      expect(codes).toEqual(['TRANSACTION_CONTROL', 'TRANSACTION_CONTROL'])
      expect(await bound.notes()).toEqual(['kept'])
    })

    test('has savepoints, batches, and transactions that are ended by hand', async () => {
      const bound = await subject.open()

      await inHandler(bound, async (tx) => {
        await tx.savepoint(async (inner) => subject.insert(inner, 'a', 'a savepoint'))
        await tx.batchInsert('effects', [{ event_key: 'a', note: 'batch' }], 1)
        const trx = await tx.transaction()
        await subject.insert(trx, 'a', 'undone')
        await trx.rollback()
        const other = await tx.transaction()
        await subject.insert(other, 'a', 'by hand')
        await other.commit()
      })

      expect(await bound.notes()).toEqual(['a savepoint', 'batch', 'by hand'])
    })
  })
}

describe.skipIf(hasNoPostgres)('hookonce/knex', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'knex',
  })
  knexContract(onPostgres, { client: 'pg', serial: 'serial primary key' })

  test('escapes the operator ? of PostgreSQL by a backslash', async () => {
    const found = await inHandler(await onPostgres.open(), async (tx) => {
      const { rows } = await tx.raw<{ rows: unknown[] }>(`select ?::jsonb \\? 'a' as has`, [
        JSON.stringify({ a: 1 }),
      ])
      return rows
    })

    expect(found).toEqual([{ has: true }])
  })
})

describe('hookonce/knex on SQLite', () => {
  bindingContract(onSqlite)
  killContract(onSqlite, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'knex',
  })
  knexContract(onSqlite, { client: 'better-sqlite3', serial: 'integer primary key' })

  test('writes times as milliseconds, and gives the id of what was inserted', async () => {
    const bound = await onSqlite.open()
    await bound.query('create table invoices (id integer primary key, paid_at)')
    const paidAt = new Date('2026-03-29T01:30:00.123Z')

    const found = await inHandler(bound, async (tx) => ({
      ids: await tx('invoices').insert({ paid_at: paidAt }),
      rows: await tx('invoices').select(),
    }))

    expect(found).toEqual({ ids: [1], rows: [{ id: 1, paid_at: paidAt.getTime() }] })
  })

  test('is typed, and refuses an option it does not know', async () => {
    const { inbox } = await onSqlite.open()
    inbox.on('pings', '*', async (_event, { tx, sql }) => {
      expectTypeOf(tx).toEqualTypeOf<Knex.Transaction>()
      expectTypeOf(sql).toEqualTypeOf<SqliteTx>()
    })
    expect(() => knexTx({ connection: {} } as object)).toThrow(
      'knexTx: unknown option "connection"',
    )
  })
})
