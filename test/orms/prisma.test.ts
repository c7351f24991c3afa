import { describe, expect, expectTypeOf, test } from 'vitest'
import { prismaTx } from '../../src/bindings/prisma.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { fromPrisma } from '../../src/own-tx/from-prisma.ts'
import { hmac } from '../../src/providers/hmac.ts'
import type { Engine } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { bindingContract, postgresBindingContract } from '../bindings/binding-contract.ts'
import type { BindingUnderTest } from '../bindings/binding-contract.ts'
import {
  codeBehind,
  inHandler,
  openBoundPostgres,
  openBoundSqlite,
} from '../bindings/bound-inbox.ts'
import { killContract } from '../bindings/kill-contract.ts'
import { aSignal } from '../support/a-signal.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { Prisma, PrismaClient } from './generated/prisma/client.ts'
import { PrismaClient as SqliteClient } from './generated/prisma-sqlite/client.ts'
import type { Prisma as SqlitePrisma } from './generated/prisma-sqlite/client.ts'
import { createBinding, createSqliteBinding, insert, PREPARE } from './prisma-subject.ts'
import type { Tx } from './prisma-subject.ts'

function underTest<Sql>(
  name: string,
  open: BindingUnderTest<Tx, Sql>['open'],
): BindingUnderTest<Tx, Sql> {
  return {
    name,
    open,
    insert,
    nest: (tx, work) => tx.$transaction(async (inner) => work(inner as Tx)),
    run: (tx, text) => tx.$executeRawUnsafe(text),
    asOwn: (tx) => fromPrisma(tx),
  }
}

const onPostgres = underTest<PostgresTx>('Prisma on PostgreSQL', async (worker) => {
  const bound = await openBoundPostgres(createBinding(), worker)
  await bound.query(PREPARE)
  return bound
})
const onSqlite = underTest<SqliteTx>('Prisma on SQLite', (worker) =>
  openBoundSqlite(createSqliteBinding(), worker),
)
const KILLED = { program: new URL('killed-process.ts', import.meta.url), library: 'prisma' }

const TABLES: Readonly<Record<Engine, readonly string[]>> = {
  postgres: [
    'create table "Customer" (id serial primary key, email text not null unique, name text)',
    `create table "Invoice" (
      id text primary key, amount bigint not null, rate numeric, "paidAt" timestamptz(3), "writtenAt" timestamp(3),
      day date, meta jsonb, bytes bytea, tags text[], amounts bigint[], "customerId" int references "Customer" (id)
    )`,
  ],
  // As Prisma's own migrations make them.
  sqlite: [
    'create table "Customer" (id integer primary key autoincrement, email text not null unique, name text)',
    `create table "Invoice" (
      id text primary key, amount bigint not null, rate decimal, "isPaid" boolean, "paidAt" datetime, meta jsonb,
      bytes blob, "customerId" integer references "Customer" (id)
    )`,
  ],
}

async function openWithTables<Sql>(subject: BindingUnderTest<Tx, Sql>, engine: Engine) {
  const bound = await subject.open()
  for (const table of TABLES[engine]) await bound.query(table)
  return bound
}

describe.skipIf(hasNoPostgres)('hookonce/prisma on PostgreSQL', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, KILLED)
  prismaContract(onPostgres, 'postgres')

  test('reads and writes big integers, times, JSON, bytes and lists as Prisma does', async () => {
    const bound = await openWithTables(onPostgres, 'postgres')
    // What is written without a zone, or read without one, would be off by hours here.
    await bound.query(`do $$ begin
      execute format('alter database %I set timezone = ''Asia/Kolkata''', current_database()); end $$`)
    const paidAt = new Date('2026-03-29T01:30:00.123Z')
    const data = {
      id: 'in_1',
      amount: 9_007_199_254_740_993n,
      rate: '0.30000000000000000001',
      paidAt,
      writtenAt: paidAt,
      day: new Date('2026-03-29T00:00:00Z'),
      meta: { text: 'a "b"', list: [1, null] },
      bytes: new Uint8Array([0, 255, 92]),
      tags: ['a,b', 'c "d" \\', ''],
      amounts: [1n, 9_007_199_254_740_993n],
    }

    const { found, zone } = await inHandler(bound, async (tx) => {
      await tx.invoice.create({ data })
      const [row] = await tx.$queryRaw<
        { zone: string }[]
      >`select current_setting('timezone') as zone`
      return {
        found: await tx.invoice.findUniqueOrThrow({ where: { id: 'in_1' } }),
        zone: row?.zone,
      }
    })

    expect(zone).toBe('Asia/Kolkata')
    expect({ ...found, rate: found.rate?.toFixed(), bytes: [...(found.bytes ?? [])] }).toEqual({
      ...data,
      bytes: [0, 255, 92],
      customerId: null,
    })
    const [stored] = await bound.query(
      `select "paidAt" at time zone 'UTC' = "writtenAt" as same, meta ->> 'text' as text, day::text from "Invoice"`,
    )
    expect(stored).toEqual({ same: true, text: 'a "b"', day: '2026-03-29' })
  })

  test.each([
    ['America/New_York', '-04:56:02'],
    ['Asia/Kolkata', '+05:53:28'],
  ])(
    'reads a time of before the time zones, with seconds in its offset: %s',
    async (zone, offset) => {
      const bound = await openWithTables(onPostgres, 'postgres')
      const paidAt = new Date('1850-06-01T12:00:00.123Z')

      const { found, text } = await inHandler(bound, async (tx) => {
        await tx.$executeRawUnsafe(`set local timezone = '${zone}'`)
        await tx.invoice.create({ data: { id: 'in_1', amount: 1n, paidAt } })
        const [row] = await tx.$queryRaw<
          { text: string }[]
        >`select "paidAt"::text as text from "Invoice"`
        return {
          found: await tx.invoice.findUniqueOrThrow({ where: { id: 'in_1' } }),
          text: row?.text,
        }
      })

      expect(text).toMatch(new RegExp(`\\${offset}$`))
      expect(found.paidAt).toEqual(paidAt)
    },
  )

  test("leaves no time limit of Prisma's on a nested transaction", async () => {
    const bound = await onPostgres.open()

    await inHandler(bound, async (tx) =>
      tx.$transaction(
        async (inner) => {
          await inner.$executeRaw`select pg_sleep(0.1)`
          await insert(inner as Tx, 'evt_1', 'after the limit')
        },
        { timeout: 1, maxWait: 1 },
      ),
    )

    expect(await bound.notes()).toEqual(['after the limit'])
  })

  test('reads a column of type void, and one of a type that it does not know', async () => {
    const rows = await inHandler(
      await onPostgres.open(),
      async (tx) =>
        tx.$queryRaw<unknown[]>`select pg_notify('nothing', '') as void, '(1,2)'::point as point`,
    )

    expect(rows).toEqual([{ void: '', point: '(1,2)' }])
  })

  test('refuses what only the owner of a connection may do, and another isolation', async () => {
    const codes = await inHandler(await onPostgres.open(), async (tx) => {
      const owned = tx as unknown as PrismaClient
      const refused = [
        owned.$connect(),
        owned.$disconnect(),
        tx.$transaction(async () => undefined, { isolationLevel: 'Serializable' }),
      ]
      return Promise.all(refused.map((call) => call.then(() => 'taken', codeBehind)))
    })

    expect(codes).toEqual(Array.from({ length: 3 }, () => 'TRANSACTION_CONTROL'))
  })

  test('two handlers that run at once have a client each', async () => {
    // Of a type of which nothing has ended, two run at once beside one slot for another.
    const { inbox, deliver, untilAll, notes } = await onPostgres.open({ concurrency: 3 })
    const failures: unknown[] = []
    inbox.events.on('event.failed', (happening) => failures.push(happening))
    const begun = aSignal()
    const written = aSignal()
    inbox.on('pings', '*', { retry: { firstMs: 0 } }, async ({ key }, { tx }) => {
      await insert(tx, key, `${key} before`)
      begun.give()
      if (key === 'evt_2') written.give()
      await written.given
      await insert(tx, key, `${key} after`)
    })
    const done = untilAll('event.done', 2)
    await inbox.start()

    await deliver('evt_1')
    await begun.given
    await deliver('evt_2')
    await done

    expect(failures).toEqual([])
    expect(await notes()).toEqual(['evt_1 after', 'evt_1 before', 'evt_2 after', 'evt_2 before'])
  })

  test('takes extensions and options of the client', async () => {
    const bound = await openBoundPostgres(
      prismaTx(PrismaClient, {
        client: { omit: { effect: { id: true } } },
        extend: (client) =>
          client.$extends({ model: { effect: { noteOf: (key: string) => `note of ${key}` } } }),
      }),
    )
    await bound.query(PREPARE)
    let found: unknown
    bound.inbox.on('pings', '*', async ({ key }, { tx }) => {
      expectTypeOf(tx.effect.noteOf).returns.toEqualTypeOf<string>()
      await tx.$transaction(async (inner) => {
        const note = inner.effect.noteOf(key)
        await inner.effect.create({ data: { eventKey: key, note } })
      })
      found = await tx.effect.findMany()
    })
    const done = bound.untilAll('event.done', 1)
    await bound.inbox.start()
    await bound.deliver('evt_1')
    await done

    expect(found).toEqual([{ eventKey: 'evt_1', note: 'note of evt_1' }])
  })
})

describe('hookonce/prisma on SQLite', () => {
  bindingContract(onSqlite)
  killContract(onSqlite, KILLED)
  prismaContract(onSqlite, 'sqlite')

  async function openOwn(options = {}) {
    const bound = await openBoundSqlite(prismaTx(SqliteClient, options))
    for (const table of TABLES.sqlite) await bound.query(table)
    return bound
  }
  const paidAt = new Date('2026-03-29T01:30:00.123Z')

  test('gives a handler what Prisma gives to the function of $transaction', async () => {
    await inHandler(await openOwn(), async (tx, sql) => {
      expectTypeOf(tx).toExtend<SqlitePrisma.TransactionClient>()
      expectTypeOf(tx.invoice.findFirst).toEqualTypeOf<SqliteClient['invoice']['findFirst']>()
      expectTypeOf(sql).toEqualTypeOf<SqliteTx>()
    })
  })

  test('reads and writes big integers, times, booleans, JSON and bytes as Prisma does', async () => {
    const bound = await openOwn()
    const data = {
      id: 'in_1',
      amount: 9_007_199_254_740_993n,
      rate: 0.25,
      isPaid: true,
      paidAt,
      meta: { text: 'a "b"', list: [1, null] },
      bytes: new Uint8Array([0, 255, 92]),
    }

    const { found, raw } = await inHandler(bound, async (tx) => {
      await tx.invoice.create({ data })
      return {
        found: await tx.invoice.findUniqueOrThrow({ where: { id: 'in_1' } }),
        raw: await tx.$queryRaw<
          unknown[]
        >`select amount, "isPaid", "paidAt", bytes, 1 + 1 as sum, 'a' as text, null as none from "Invoice"`,
      }
    })

    expect({ ...found, rate: Number(found.rate), bytes: [...(found.bytes ?? [])] }).toEqual({
      ...data,
      bytes: [0, 255, 92],
      customerId: null,
    })
    expect(raw).toMatchObject([
      { amount: data.amount, isPaid: true, paidAt, sum: 2, text: 'a', none: null },
    ])
    const [stored] = await bound.query('select "paidAt", typeof(meta) as meta from "Invoice"')
    expect(stored).toEqual({ paidAt: '2026-03-29T01:30:00.123+00:00', meta: 'text' })
  })

  test('keeps times as milliseconds where it is told so, and reads both', async () => {
    const bound = await openOwn({ timestampFormat: 'unixepoch-ms' })
    await bound.query(
      `insert into "Invoice" (id, amount, "paidAt") values ('b', 1, '2026-03-29T01:30:00.123+00:00')`,
    )

    const found = await inHandler(bound, async (tx) => {
      await tx.invoice.create({ data: { id: 'a', amount: 1n, paidAt } })
      return tx.invoice.findMany({ select: { paidAt: true }, orderBy: { id: 'asc' } })
    })

    expect(found).toEqual([{ paidAt }, { paidAt }])
    const kept = await bound.query(`select "paidAt" from "Invoice" where id = 'a'`)
    expect(kept).toEqual([{ paidAt: paidAt.valueOf() }])
  })

  test('tells of what fails by the codes of Prisma', async () => {
    const codes = await inHandler(await openOwn(), async (tx) => {
      await tx.customer.create({ data: { email: 'a' } })
      const failing = [
        () => tx.customer.create({ data: { email: 'a' } }),
        () => tx.$executeRaw`insert into "Customer" (email) values (null)`,
        () => tx.$queryRaw`select * from nowhere`,
      ]
      const seen: unknown[] = []
      for (const fail of failing) {
        seen.push(
          await fail().then(
            () => 'taken',
            (error: unknown) => (error as { code?: unknown }).code,
          ),
        )
      }
      return seen
    })

    expect(codes).toEqual(['P2002', 'P2010', 'P2010'])
  })

  test('refuses what only the owner of a connection may do, and another isolation', async () => {
    const codes = await inHandler(await openOwn(), async (tx) => {
      const owned = tx as unknown as SqliteClient
      const other = { isolationLevel: 'ReadCommitted' as never }
      const calls = [
        owned.$connect(),
        owned.$disconnect(),
        tx.$transaction(async () => undefined, other),
        tx.$transaction(async () => undefined, { isolationLevel: 'Serializable' }),
      ]
      return Promise.all(calls.map((call) => call.then(() => 'taken', codeBehind)))
    })

    expect(codes).toEqual([
      'TRANSACTION_CONTROL',
      'TRANSACTION_CONTROL',
      'TRANSACTION_CONTROL',
      'taken',
    ])
  })

  test('is refused by Prisma itself on the other store', async () => {
    const store = sqliteStore('never-opened.db', { tx: prismaTx(PrismaClient) })

    await expect(store.open()).rejects.toThrow('not compatible with the provider')
  })
})

/** What Prisma does on either engine. */
function prismaContract<Sql>(subject: BindingUnderTest<Tx, Sql>, engine: Engine): void {
  describe(`${subject.name}: the tx of a handler`, () => {
    test('upserts, and writes what is nested in one savepoint, two at once', async () => {
      const bound = await openWithTables(subject, engine)

      const found = await inHandler(bound, async (tx) => {
        const create = (email: string) =>
          tx.customer.create({
            data: { email, invoices: { create: [{ id: `in_${email}`, amount: 1n }] } },
          })
        await Promise.all([create('a'), create('b'), create('c')])
        const where = { email: 'a' }
        await tx.customer.upsert({ where, create: where, update: { name: 'again' } })
        await tx.customer.upsert({ where: { email: 'd' }, create: { email: 'd' }, update: {} })
        return tx.customer.findMany({
          select: { email: true, name: true, invoices: { select: { id: true } } },
          orderBy: { email: 'asc' },
        })
      })

      expect(found).toEqual([
        { email: 'a', name: 'again', invoices: [{ id: 'in_a' }] },
        { email: 'b', name: null, invoices: [{ id: 'in_b' }] },
        { email: 'c', name: null, invoices: [{ id: 'in_c' }] },
        { email: 'd', name: null, invoices: [] },
      ])
    })

    test('rolls a list of operations back together, and nothing else', async () => {
      const bound = await openWithTables(subject, engine)

      const codes = await inHandler(bound, async (tx) => {
        await tx.customer.create({ data: { email: 'before' } })
        const twice = tx.$transaction([
          tx.customer.create({ data: { email: 'undone' } }),
          tx.customer.create({ data: { email: 'before' } }),
        ])
        const failed: unknown = await twice.then(
          () => 'taken',
          (error: unknown) => error,
        )
        await tx.$transaction([tx.customer.create({ data: { email: 'after' } })])
        return [failed instanceof Prisma.PrismaClientKnownRequestError && failed.code]
      })

      expect(codes).toEqual(['P2002'])
      expect(await bound.query('select email from "Customer" order by 1')).toEqual([
        { email: 'after' },
        { email: 'before' },
      ])
    })

    // Prisma does nothing before it is waited for: one client serves both handlers, and must not mix them up.
    test('an operation that is waited for too late is not done in the next transaction', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open({ concurrency: 1 })
      let late: PromiseLike<unknown> | undefined
      const codes: unknown[] = []
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        await insert(tx, key, key)
        if (late !== undefined)
          codes.push(await Promise.resolve(late).then(() => 'taken', codeBehind))
        late = tx.effect.create({ data: { eventKey: key, note: 'late' } })
      })
      await inbox.start()

      for (const key of ['evt_1', 'evt_2']) {
        const done = untilAll('event.done', 1)
        await deliver(key)
        await done
      }

      expect(codes).toEqual(['TX_REVOKED'])
      expect(await notes()).toEqual(['evt_1', 'evt_2'])
    })

    test('an operation that is on its way keeps its client from the next handler', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open({ concurrency: 1 })
      const codes: unknown[] = []
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        await insert(tx, key, key)
        // Without an await, on purpose.
        for (let at = 0; at < 20; at += 1)
          insert(tx, key, `${key} late`).then(
            () => codes.push('taken'),
            (error: unknown) => codes.push(codeBehind(error)),
          )
      })
      const ended = Promise.all([untilAll('event.done', 2)])
      await inbox.start()
      await deliver('evt_1')
      await deliver('evt_2')
      await ended
      await expect.poll(() => codes.length).toBe(40)

      const written = await notes()
      expect(written.filter((note) => note === 'evt_1' || note === 'evt_2')).toHaveLength(2)
      expect(written).toHaveLength(2 + codes.filter((code) => code === 'taken').length)
    })
  })
}

describe('prismaTx', () => {
  const pool = { query: () => undefined, connect: () => undefined } as never

  test('gives a handler what Prisma gives to the function of $transaction', () => {
    const inbox = createInbox({
      store: postgresStore({ pool, tx: prismaTx(PrismaClient) }),
      sources: { pings: hmac(PING_OPTIONS) },
    })
    inbox.on('pings', '*', async (_event, { tx, sql }) => {
      expectTypeOf(tx).toExtend<Prisma.TransactionClient>()
      expectTypeOf(tx).not.toHaveProperty('$disconnect')
      expectTypeOf(tx.invoice.findFirst).toEqualTypeOf<PrismaClient['invoice']['findFirst']>()
      expectTypeOf(sql).toEqualTypeOf<PostgresTx>()
    })
  })

  test('refuses a client in place of its class, and says why', () => {
    const client = { $transaction: () => undefined }
    expect(() => prismaTx(client as never)).toThrow(
      'prismaTx must be given the class PrismaClient. A client has connections of its own',
    )
  })

  test('refuses an adapter, and options it does not know', () => {
    expect(() => prismaTx(PrismaClient, { client: { adapter: {} } })).toThrow(
      'left out: it is ours',
    )
    expect(() => prismaTx(PrismaClient, { log: [] } as object)).toThrow(
      'prismaTx: unknown option "log"',
    )
    expect(() => prismaTx(PrismaClient, { extend: 1 } as never)).toThrow('prismaTx.extend')
    expect(() => prismaTx(PrismaClient, { schema: 1 } as never)).toThrow('prismaTx.schema')
    expect(() => prismaTx(PrismaClient, { client: 1 } as never)).toThrow('prismaTx.client')
    expect(() => prismaTx(PrismaClient, { timestampFormat: 'unix' } as never)).toThrow(
      'prismaTx.timestampFormat',
    )
  })
})
