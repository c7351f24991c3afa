import { CamelCasePlugin, sql } from 'kysely'
import type { Generated, Kysely, Transaction } from 'kysely'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { kyselyTx } from '../../src/bindings/kysely.ts'
import type { KyselyTx } from '../../src/bindings/kysely.ts'
import { fromKysely } from '../../src/own-tx/from-kysely.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { bindingContract, postgresBindingContract } from './binding-contract.ts'
import type { BindingUnderTest } from './binding-contract.ts'
import { killContract } from './kill-contract.ts'
import { openBoundPostgres, openBoundSqlite } from './bound-inbox.ts'
import type { BoundInbox } from './bound-inbox.ts'

interface Database {
  effects: { event_key: string; note: string | null }
  invoices: { id: Generated<number>; cents: bigint | string; paid: number }
}
type Tx = KyselyTx<Database>

function underTest<Sql>(
  name: string,
  open: BindingUnderTest<Tx, Sql>['open'],
): BindingUnderTest<Tx, Sql> {
  return {
    name,
    open,
    insert: (tx, key, note) => tx.insertInto('effects').values({ event_key: key, note }).execute(),
    nest: (tx, work) => tx.transaction().execute((inner) => work(inner as Tx)),
    run: (tx, text) => sql.raw(text).execute(tx),
    asOwn: (tx) => fromKysely(tx),
  }
}

const onPostgres = underTest<PostgresTx>('Kysely on PostgreSQL', (worker) =>
  openBoundPostgres(kyselyTx<Database>(), worker),
)
const onSqlite = underTest<SqliteTx>('Kysely on SQLite', (worker) =>
  openBoundSqlite(kyselyTx<Database>(), worker),
)

/** Runs `work` as a handler, and gives what it returned. */
async function inHandler<Result, Sql>(
  { inbox, deliver, untilAll }: BoundInbox<Tx, Sql>,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined
  inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async (_event, { tx }) => {
    result = await work(tx)
  })
  const ended = Promise.race([untilAll('event.done', 1), untilAll('event.dead', 1)])
  await inbox.start()
  await deliver('evt_1')
  expect((await ended)[0]).not.toHaveProperty('error')
  return result as Result
}

/** What repositories look like: one asks for a transaction, one for anything, and one opens its own. */
const repository = {
  inTransaction: (tx: Transaction<Database>) => tx.selectFrom('effects').selectAll().execute(),
  anywhere: (db: Kysely<Database>) =>
    db.isTransaction
      ? db.insertInto('effects').values({ event_key: 'a', note: 'asked' }).execute()
      : Promise.reject(new Error('It was told that it is in no transaction')),
  onItsOwn: (db: Kysely<Database>) =>
    db
      .transaction()
      .execute((tx) => tx.insertInto('effects').values({ event_key: 'b', note: 'own' }).execute()),
}

function kyselyContract<Sql>(subject: BindingUnderTest<Tx, Sql>, serial: string): void {
  describe(`${subject.name}: the tx of a handler`, () => {
    test('goes where repositories want a transaction, a database, or open one', async () => {
      const bound = await subject.open()

      const rows = await inHandler(bound, async (tx) => {
        await repository.anywhere(tx)
        await repository.onItsOwn(tx)
        return repository.inTransaction(tx)
      })

      expect(rows.map(({ note }) => note)).toEqual(['asked', 'own'])
      expect(await bound.notes()).toEqual(['asked', 'own'])
    })

    test('is still a transaction with a plugin or a schema', async () => {
      const found = await inHandler(await subject.open(), async (tx) => [
        tx.isTransaction,
        tx.withPlugin(new CamelCasePlugin()).isTransaction,
        tx.withSchema('main').withoutPlugins().isTransaction,
      ])

      expect(found).toEqual([true, true, true])
    })

    test('counts what it changes, and gives back what it wrote', async () => {
      const bound = await subject.open()
      await bound.query(`create table invoices (id ${serial}, cents bigint, paid int)`)

      const found = await inHandler(bound, async (tx) => {
        const cents = 9_007_199_254_740_993n
        const two = [
          { cents, paid: 0 },
          { cents: '5', paid: 0 },
        ]
        const inserted = await tx.insertInto('invoices').values(two).executeTakeFirst()
        const updated = await tx.updateTable('invoices').set({ paid: 1 }).executeTakeFirst()
        const deleted = await tx.deleteFrom('invoices').where('id', '=', 2).executeTakeFirst()
        const rows = await tx.selectFrom('invoices').selectAll().execute()
        const returned = await tx
          .insertInto('invoices')
          .values({ cents: '1', paid: 0 })
          .returning('id')
          .execute()
        return {
          inserted: inserted.numInsertedOrUpdatedRows,
          updated: updated.numUpdatedRows,
          deleted: deleted.numDeletedRows,
          rows: rows.map((row) => ({ ...row, cents: BigInt(row.cents) })),
          returned: returned.length,
        }
      })

      expect(found).toEqual({
        inserted: 2n,
        updated: 2n,
        deleted: 1n,
        rows: [{ id: 1, cents: 9_007_199_254_740_993n, paid: 1 }],
        returned: 1,
      })
    })

    test('opens transactions in what plugins and savepoints give, until it has ended', async () => {
      const bound = await subject.open()

      const late = await inHandler(bound, async (tx) => {
        const kept: Transaction<Database>[] = []
        await tx.transaction().execute(async (inner) => {
          kept.push(inner)
          const camel = inner.withPlugin(new CamelCasePlugin()) as unknown as Kysely<{
            effects: { eventKey: string; note: string }
          }>
          await camel
            .transaction()
            .setIsolationLevel('read committed')
            .execute(async (innermost) => {
              const nested = await innermost.startTransaction().execute()
              await nested.insertInto('effects').values({ eventKey: 'a', note: 'deep' }).execute()
              const behind = await nested.savepoint('one').execute()
              await repository.onItsOwn(behind.withoutPlugins() as unknown as Kysely<Database>)
              await behind.commit().execute()
            })
        })
        const [ended] = kept
        return ended
          ?.transaction()
          .execute(async () => 'opened')
          .catch((error: unknown) => String(error))
      })

      expect(late).toContain('already committed')
      expect(await bound.notes()).toEqual(['deep', 'own'])
    })

    test('has savepoints in a transaction that is controlled by hand', async () => {
      const bound = await subject.open()

      await inHandler(bound, async (tx) => {
        const trx = await tx.startTransaction().execute()
        await subject.insert(trx, 'a', 'kept')
        const behind = await trx.savepoint('one').execute()
        await subject.insert(behind, 'a', 'undone')
        await behind.rollbackToSavepoint('one').execute()
        await trx.commit().execute()
      })

      expect(await bound.notes()).toEqual(['kept'])
    })
  })
}

describe.skipIf(hasNoPostgres)('hookonce/kysely', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'kysely',
  })
  kyselyContract(onPostgres, 'serial')
})

describe('hookonce/kysely on SQLite', () => {
  bindingContract(onSqlite)
  killContract(onSqlite, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'kysely',
  })
  kyselyContract(onSqlite, 'integer primary key')

  test('gives the id of what was inserted', async () => {
    const bound = await onSqlite.open()
    await bound.query('create table invoices (id integer primary key, cents bigint, paid int)')

    const id = await inHandler(bound, async (tx) => {
      await tx.insertInto('invoices').values({ cents: '5', paid: 0 }).execute()
      return (
        await tx.insertInto('invoices').values({ cents: '5', paid: 0 }).executeTakeFirstOrThrow()
      ).insertId
    })

    expect(id).toBe(2n)
  })

  test('lets a statement of tx pass while a nested transaction runs', async () => {
    const bound = await onSqlite.open()

    await inHandler(bound, async (tx) => {
      await tx.transaction().execute(async (inner) => {
        await onSqlite.insert(inner, 'a', 'inner')
        await onSqlite.insert(tx, 'a', 'outer')
      })
    })

    expect(await bound.notes()).toEqual(['inner', 'outer'])
  })

  test('is typed', async () => {
    const { inbox } = await onSqlite.open()
    inbox.on('pings', '*', async (_event, { tx, sql: raw }) => {
      expectTypeOf(tx).toEqualTypeOf<KyselyTx<Database>>()
      expectTypeOf(tx).toExtend<Transaction<Database>>()
      expectTypeOf(raw).toEqualTypeOf<SqliteTx>()
      // @ts-expect-error there is no such table
      await tx.selectFrom('no_such_table').selectAll().execute()
    })
    expect(() => kyselyTx({ dialect: {} } as object)).toThrow('kyselyTx: unknown option "dialect"')
  })
})
