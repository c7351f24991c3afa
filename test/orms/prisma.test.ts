import { describe, expect, expectTypeOf, test } from 'vitest'
import { prismaTx } from '../../src/bindings/prisma.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { bindingContract, postgresBindingContract } from '../bindings/binding-contract.ts'
import type { BindingUnderTest } from '../bindings/binding-contract.ts'
import { codeBehind, inHandler, openBoundPostgres } from '../bindings/bound-inbox.ts'
import type { BoundInbox } from '../bindings/bound-inbox.ts'
import { killContract } from '../bindings/kill-contract.ts'
import { aSignal } from '../support/a-signal.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { Prisma, PrismaClient } from './generated/prisma/client.ts'
import { createBinding, insert, PREPARE } from './prisma-subject.ts'
import type { Tx } from './prisma-subject.ts'

const onPostgres: BindingUnderTest<Tx, PostgresTx> = {
  name: 'Prisma',
  open: async (worker) => {
    const bound = await openBoundPostgres(createBinding(), worker)
    await bound.query(PREPARE)
    return bound
  },
  insert,
  nestsDeeper: true,
  nest: (tx, work) => tx.$transaction(async (inner) => work(inner as Tx)),
  run: (tx, text) => tx.$executeRawUnsafe(text),
}

const TABLES = `
  create table "Customer" (id serial primary key, email text not null unique, name text);
  create table "Invoice" (
    id text primary key, amount bigint not null, rate numeric, "paidAt" timestamptz(3), "writtenAt" timestamp(3),
    day date, meta jsonb, bytes bytea, tags text[], amounts bigint[], "customerId" int references "Customer" (id)
  )`

async function openWithTables(): Promise<BoundInbox<Tx, PostgresTx>> {
  const bound = await onPostgres.open()
  await bound.query(TABLES)
  return bound
}

describe.skipIf(hasNoPostgres)('hookonce/prisma', () => {
  bindingContract(onPostgres)
  postgresBindingContract(onPostgres)
  killContract(onPostgres, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'prisma',
  })

  test('two hundred duplicates at once have one effect', async () => {
    const { inbox, deliver, untilAll, notes } = await onPostgres.open()
    inbox.on('pings', '*', async ({ key }, { tx }) => insert(tx, key, 'paid'))
    const done = untilAll('event.done', 1)
    await inbox.start()

    await Promise.all(Array.from({ length: 200 }, () => deliver('evt_1')))
    await done
    await inbox.stop()

    expect(await notes()).toEqual(['paid'])
  })

  test('reads and writes big integers, times, JSON, bytes and lists as Prisma does', async () => {
    const bound = await openWithTables()
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

  test('upserts, and writes what is nested in one savepoint, two at once', async () => {
    const bound = await openWithTables()

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
    const bound = await openWithTables()

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

  // Prisma does nothing before it is waited for: one client serves both handlers, and must not mix them up.
  test('an operation that is waited for too late is not done in the next transaction', async () => {
    const { inbox, deliver, untilAll, notes } = await onPostgres.open({ concurrency: 1 })
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
    const { inbox, deliver, untilAll, notes } = await onPostgres.open({ concurrency: 1 })
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

  test('two handlers that run at once have a client each', async () => {
    const { inbox, deliver, untilAll, notes } = await onPostgres.open({ concurrency: 2 })
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
  })
})
