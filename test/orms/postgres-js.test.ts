import postgres from 'postgres'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { postgresJsTx } from '../../src/bindings/postgres-js.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { fromPostgresJs } from '../../src/own-tx/from-postgres-js.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { bindingContract, postgresBindingContract } from '../bindings/binding-contract.ts'
import type { BindingUnderTest } from '../bindings/binding-contract.ts'
import { codeBehind, inHandler, openBoundTo } from '../bindings/bound-inbox.ts'
import { killContract } from '../bindings/kill-contract.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { createBinding, insert, openSql } from './postgres-js-subject.ts'
import type { Tx } from './postgres-js-subject.ts'

const onPostgres: BindingUnderTest<Tx, PostgresTx> = {
  name: 'postgres.js',
  open: (worker) => openBoundTo(async (config) => createBinding(config), worker),
  insert,
  nest: (tx, work) => tx.savepoint((inner) => work(inner as Tx)),
  run: (tx, text) => tx.unsafe(text),
  asOwn: (tx) => fromPostgresJs(tx),
}

describe.skipIf(hasNoPostgres)('hookonce/postgres-js', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'postgres-js',
  })

  test('gives and takes what it would on a connection of its own', async () => {
    const bound = await openBoundTo(async (config) => createBinding(config))
    const plain = openSql(bound.config!)
    const paidAt = new Date('2026-03-29T01:30:00.123Z')
    const ask = async (sql: postgres.ISql) => {
      const ids = [1, 2]
      const part = sql`where id in ${sql(ids)} and ${true}::boolean`
      return [
        await sql`select ${paidAt}::timestamptz as at, ${paidAt} as inferred, ${true} as truth, ${null}::int as nothing`,
        await sql`select ${9_007_199_254_740_993n as never} as big, ${'1.10'}::numeric as number, ${new Uint8Array([0, 255])} as bytes`,
        await sql`select ${sql.json({ a: ['b"', null] })} as json, ${{ a: 1 } as never}::jsonb -> 'a' as inner`,
        await sql`select ${[1, 2, 3]}::int[] as ints, ${sql.array(['a,b', 'c "d"', ''])} as texts, '{{1,2},{3,4}}'::int8[] as nested`,
        await sql`select id, id::text as ${sql('as text')} from generate_series(1, 3) as id ${part} order by id`,
        await sql`select 1 as a, 2 as a`.values(),
        await sql`select 1 as a`.raw(),
        await sql.unsafe('select 1 as a; select 2 as b, 3 as c'),
        await sql.unsafe('select $1::int + 1 as sum', [2]),
        await sql`select 1 as never where false`,
        await sql`select ${'x'} as text`.describe().then(({ types, columns }) => [types, columns]),
        await sql`select * from generate_series(1, 3) as n`.cursor(10, () => undefined),
      ]
    }

    const lent = await inHandler(bound, (tx) => ask(tx))

    const own = await plain.begin((sql) => ask(sql))
    const comparable = (results: unknown[]) =>
      results.map((result) => ({ result, ...describeResult(result) }))
    expect(comparable(lent)).toEqual(comparable(own))
    await plain.end()
  })

  // What is JSON already, under the type jsonb, is made JSON once more: a text, where an object was meant.
  test('encodes a text for jsonb twice, as postgres.js does, and once as text', async () => {
    const [row] = await inHandler(await onPostgres.open(), async (tx) => {
      const text = JSON.stringify({ paid: true })
      return tx`select jsonb_typeof(${text}::jsonb) as twice, jsonb_typeof(${text}::text::jsonb) as once`
    })

    expect(row).toEqual({ twice: 'string', once: 'object' })
  })

  test("has the types and transforms of the user's sql, lists of an enum of theirs among them", async () => {
    const bound = await openBoundTo(async (config) =>
      postgresJsTx(
        postgres,
        openSql(config, { transform: postgres.camel, types: { bigint: postgres.BigInt } }),
      ),
    )
    await bound.query("create type colour as enum ('red', 'green')")
    await bound.query('create table paid_invoices (invoice_id bigint, colours colour[])')

    const rows = await inHandler(bound, async (tx) => {
      await tx`insert into paid_invoices ${tx({ invoiceId: 9_007_199_254_740_993n, colours: ['red', 'green'] as never })}`
      return tx`select * from paid_invoices`
    })

    expect([...rows]).toEqual([{ invoiceId: 9_007_199_254_740_993n, colours: ['red', 'green'] }])
  })

  test('counts what it changes, and says which constraint was broken', async () => {
    const bound = await onPostgres.open()
    await bound.query('create table invoices (id int primary key)')

    const found = await inHandler(bound, async (tx) => {
      const inserted = await tx`insert into invoices ${tx([{ id: 1 }, { id: 2 }])} returning id`
      const error: unknown = await tx
        .savepoint((inner) => inner`insert into invoices values (1)`)
        .catch((caught: unknown) => caught)
      const deleted = await tx`delete from invoices`
      return { inserted: [...inserted], count: inserted.count, deleted: deleted.count, error }
    })

    expect(found).toMatchObject({
      inserted: [{ id: 1 }, { id: 2 }],
      count: 2,
      deleted: 2,
      error: { name: 'PostgresError', code: '23505', constraint_name: 'invoices_pkey' },
    })
    expect(found.error).toBeInstanceOf(postgres.PostgresError)
  })

  test('runs statements at once in their order, and a list of them in a savepoint', async () => {
    const bound = await onPostgres.open()

    const [first, counted] = await inHandler(bound, async (tx) => {
      await Promise.all(['a', 'b', 'c'].map((note) => insert(tx, 'evt_1', note)))
      return tx.begin((inner) => [
        inner`insert into effects values ('evt_1', 'd') returning note`,
        inner`select count(*)::int as n from effects`,
      ])
    })

    expect(first?.[0]).toEqual({ note: 'd' })
    expect(counted?.[0]).toEqual({ n: 4 })
    expect(await bound.notes()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('hears of a type that a migration has changed', async () => {
    const bound = await onPostgres.open({ concurrency: 1 })
    await bound.query('create table changing (value int)')
    bound.inbox.on('pings', '*', { retry: { firstMs: 0 } }, async ({ key }, { tx }) => {
      await tx`insert into changing values (${key === 'evt_1' ? 1 : ({ a: 1 } as never)})`
      await insert(tx, key, key)
    })
    await bound.inbox.start()
    const first = bound.untilAll('event.done', 1)
    await bound.deliver('evt_1')
    await first
    await bound.query('alter table changing alter value type jsonb using to_jsonb(value)')
    const second = bound.untilAll('event.done', 1)
    await bound.deliver('evt_2')
    await second

    expect(await bound.query('select value from changing')).toEqual([
      { value: 1 },
      { value: { a: 1 } },
    ])
  })

  test('refuses to end or prepare the transaction, and another isolation', async () => {
    const codes = await inHandler(await onPostgres.open(), async (tx) => {
      const refused = [
        () => tx`commit`,
        () => tx`rollback`,
        () => tx.unsafe('select 1; commit'),
        () => tx.begin('isolation level serializable', async () => undefined),
        async () => tx.prepare('later'),
      ]
      const found: unknown[] = []
      for (const call of refused)
        found.push(
          await Promise.resolve()
            .then(call)
            .then(() => 'taken', codeBehind),
        )
      return found
    })

    expect(codes).toEqual(Array.from({ length: 5 }, () => 'TRANSACTION_CONTROL'))
  })

  // It is asked for the types of its parameters first, and must not be told of what it would be refused.
  test('is refused a statement with values before it is described', async () => {
    const code = await inHandler(await onPostgres.open(), (tx) =>
      tx`set statement_timeout = ${'0'}`.then(() => 'taken', codeBehind),
    )

    expect(code).toBe('TRANSACTION_CONTROL')
  })

  test('keeps the inbox from starting where its own sql has no database', async () => {
    const { inbox } = await openBoundTo(async (config) =>
      postgresJsTx(postgres, openSql({ ...config, database: 'no_such_database' })),
    )

    await expect(inbox.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

/** What a result has beside its rows, which a comparison of lists does not see. */
function describeResult(result: unknown): object {
  const { count, command, columns } = result as Partial<postgres.RowList<postgres.Row[]>>
  return { count, command, columns: columns?.map(({ name, type }) => ({ name, type })) }
}

describe('postgresJsTx', () => {
  const sql = postgres({ host: 'localhost' })

  test('gives a handler what sql.begin gives to its function', () => {
    const pool = { query: () => undefined, connect: () => undefined } as never
    const inbox = createInbox({
      store: postgresStore({ pool, tx: postgresJsTx(postgres, sql) }),
      sources: { pings: hmac(PING_OPTIONS) },
    })
    inbox.on('pings', '*', async (_event, { tx, sql: plain }) => {
      expectTypeOf(tx).toExtend<postgres.TransactionSql>()
      expectTypeOf(tx).not.toHaveProperty('end')
      expectTypeOf(plain).toEqualTypeOf<PostgresTx>()
    })
  })

  test('refuses sql alone, and says what to give', () => {
    for (const given of [[sql], [sql, sql]] as never[][]) {
      expect(() => postgresJsTx(...(given as unknown as [never, never]))).toThrow(
        'was given a sql of postgres.js: what that writes would not commit with the event',
      )
    }
    for (const given of [[postgres], [postgres, {}]] as never[][]) {
      expect(() => postgresJsTx(...(given as unknown as [never, never]))).toThrow(
        'postgresJsTx(postgres, sql): what sql itself writes would not commit with the event',
      )
    }
  })

  test('refuses a sql of another copy of the library', () => {
    const other = Object.assign(() => sql, { PostgresError: class extends Error {} })
    expect(() => postgresJsTx(other, sql)).toThrow('the same copy of postgres')
  })
})
