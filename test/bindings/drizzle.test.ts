import { eq, inArray, relations, sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { bigint, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { drizzleTx } from '../../src/bindings/drizzle.ts'
import type { DrizzleTx } from '../../src/bindings/drizzle.ts'
import { fromDrizzle } from '../../src/own-tx/from-drizzle.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import {
  bindingContract,
  postgresBindingContract,
  readingBindingContract,
} from './binding-contract.ts'
import type { BindingUnderTest } from './binding-contract.ts'
import { killContract } from './kill-contract.ts'
import { openBoundPostgres } from './bound-inbox.ts'

const effects = pgTable('effects', { eventKey: text('event_key'), note: text() })
const invoices = pgTable('invoices', {
  id: integer().primaryKey(),
  cents: bigint({ mode: 'bigint' }),
  paidAt: timestamp('paid_at', { withTimezone: true }),
  data: jsonb(),
  tags: text().array(),
})
const lines = pgTable('lines', {
  id: integer().primaryKey(),
  invoiceId: integer('invoice_id'),
})
const invoicesToLines = relations(invoices, ({ many }) => ({ lines: many(lines) }))
const linesToInvoice = relations(lines, ({ one }) => ({
  invoice: one(invoices, { fields: [lines.invoiceId], references: [invoices.id] }),
}))
const schema = { effects, invoices, lines, invoicesToLines, linesToInvoice }
type Tx = DrizzleTx<typeof schema>

const TABLES = `
  create table invoices (id int primary key, cents bigint, paid_at timestamptz, data jsonb, tags text[]);
  create table lines (id int primary key, invoice_id int)`

const underTest: BindingUnderTest<Tx, PostgresTx> = {
  name: 'Drizzle on PostgreSQL',
  open: (worker) => openBoundPostgres(drizzleTx({ schema }), worker),
  insert: async (tx, eventKey, note) => tx.insert(effects).values({ eventKey, note }),
  nest: (tx, work) => tx.transaction(work),
  run: (tx, text) => tx.execute(sql.raw(text)),
  asOwn: (tx) => fromDrizzle(tx),
}

describe.skipIf(hasNoPostgres)('hookonce/drizzle', () => {
  bindingContract(underTest)
  postgresBindingContract(underTest)
  readingBindingContract(underTest, async (tx, key) => {
    const rows = await tx.select().from(effects).where(eq(effects.eventKey, key))
    return rows.some(({ eventKey }) => eventKey === key)
  })
  killContract(underTest, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'drizzle',
  })

  /** Runs `work` as a handler, and gives what it returned. */
  async function inHandler<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const { inbox, deliver, untilAll, query } = await openBoundPostgres(drizzleTx({ schema }))
    await query(TABLES)
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

  test('is typed as what db.transaction gives, and goes where a database goes', async () => {
    type Own = Parameters<Parameters<NodePgDatabase<typeof schema>['transaction']>[0]>[0]
    const { inbox } = await openBoundPostgres(drizzleTx({ schema }))
    inbox.on('pings', '*', async (_event, { tx, sql: raw }) => {
      expectTypeOf(tx).toEqualTypeOf<Own>()
      expectTypeOf(raw).toEqualTypeOf<PostgresTx>()
      const repository = (database: NodePgDatabase<typeof schema>) => database.select().from(lines)
      expectTypeOf(await repository(tx)).toEqualTypeOf<(typeof lines.$inferSelect)[]>()
      // @ts-expect-error there is no such column
      await tx.insert(lines).values({ id: 1, invoice: 2 })
    })
  })

  test('reads back big integers, times, JSON and lists as Drizzle writes them', async () => {
    const row = {
      id: 1,
      cents: 9_007_199_254_740_993n,
      paidAt: new Date('2026-03-29T01:30:00.123Z'),
      data: { nested: ['€', { deep: true }], text: 'null' },
      tags: ['a,b', '{c}', ''],
    }

    const { rows, zone } = await inHandler(async (tx) => {
      await tx.execute(sql`set local time zone 'Asia/Kolkata'`)
      const { rows: shown } = await tx.execute(sql`select current_setting('timezone') as zone`)
      await tx.insert(invoices).values(row)
      return {
        rows: await tx
          .select()
          .from(invoices)
          .where(inArray(invoices.id, [1, 2, 3])),
        zone: shown,
      }
    })

    expect(rows).toEqual([row])
    expect(zone).toEqual([{ zone: 'Asia/Kolkata' }])
  })

  test('takes a list as one value where it is told to, and as many where it is not', async () => {
    const found = await inHandler(async (tx) => {
      await tx.insert(lines).values([1, 2, 3].map((id) => ({ id })))
      const list = [1, 3]
      const one = await tx.execute(sql`select id from lines where id = any(${sql.param(list)})`)
      const many = await tx.execute(sql`select id from lines where id in ${list}`)
      return [one.rows, many.rows]
    })

    expect(found).toEqual([
      [{ id: 1 }, { id: 3 }],
      [{ id: 1 }, { id: 3 }],
    ])
  })

  test('has relations, joins with equal names, RETURNING, counts and prepared statements', async () => {
    const found = await inHandler(async (tx) => {
      await tx.insert(invoices).values([{ id: 1 }, { id: 2 }])
      const made = await tx.insert(lines).values({ id: 7, invoiceId: 1 }).returning()
      const byId = tx
        .select({ id: lines.id })
        .from(lines)
        .where(eq(lines.id, sql.placeholder('id')))
        .prepare('line_by_id')
      const updated = await tx.update(invoices).set({ data: {} }).where(eq(invoices.id, 2))
      return {
        made,
        related: await tx.query.invoices.findFirst({
          columns: { id: true },
          with: { lines: true },
        }),
        joined: await tx
          .select({ line: lines.id, invoice: invoices.id })
          .from(lines)
          .innerJoin(invoices, eq(lines.invoiceId, invoices.id)),
        prepared: [await byId.execute({ id: 7 }), await byId.execute({ id: 8 })],
        changed: updated.rowCount,
        counted: await tx.$count(invoices),
      }
    })

    expect(found).toEqual({
      made: [{ id: 7, invoiceId: 1 }],
      related: { id: 1, lines: [{ id: 7, invoiceId: 1 }] },
      joined: [{ line: 7, invoice: 1 }],
      prepared: [[{ id: 7 }], []],
      changed: 1,
      counted: 2,
    })
  })

  test('refuses a nested transaction of another isolation', async () => {
    const database = await inHandler(async (tx) => {
      const nested = (tx as unknown as NodePgDatabase).transaction(async () => undefined, {
        isolationLevel: 'serializable',
      })
      return nested.then(
        () => 'taken',
        () => 'refused',
      )
    })

    expect(database).toBe('refused')
  })

  test('logs statements to the logger it is given, and refuses an option it does not know', async () => {
    const logged: string[] = []
    const logger = { logQuery: (query: string) => void logged.push(query) }
    const { inbox, deliver, untilAll } = await openBoundPostgres(drizzleTx({ logger }))
    inbox.on('pings', '*', async (_event, { tx }) => tx.execute(sql`select 42 as answer`))
    const done = untilAll('event.done', 1)
    await inbox.start()
    await deliver('evt_1')
    await done

    expect(logged).toEqual(['select 42 as answer'])
    expect(() => drizzleTx({ cache: {} } as object)).toThrow('drizzleTx: unknown option "cache"')
  })
})
