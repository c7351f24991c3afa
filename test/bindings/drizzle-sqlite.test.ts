import { eq, relations, sql } from 'drizzle-orm'
import type { SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy'
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { drizzleTx } from '../../src/bindings/drizzle-sqlite.ts'
import type { DrizzleTx } from '../../src/bindings/drizzle-sqlite.ts'
import { drizzleTx as drizzlePostgresTx } from '../../src/bindings/drizzle.ts'
import { fromDrizzle } from '../../src/own-tx/from-drizzle.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { bindingContract, readingBindingContract } from './binding-contract.ts'
import type { BindingUnderTest } from './binding-contract.ts'
import { openBoundSqlite } from './bound-inbox.ts'
import { killContract } from './kill-contract.ts'

const effects = sqliteTable('effects', { eventKey: text('event_key'), note: text() })
const invoices = sqliteTable('invoices', {
  id: integer().primaryKey(),
  paidAt: integer('paid_at', { mode: 'timestamp_ms' }),
  isPaid: integer('is_paid', { mode: 'boolean' }),
  data: text({ mode: 'json' }),
  cents: blob({ mode: 'bigint' }),
})
const lines = sqliteTable('lines', { id: integer().primaryKey(), invoiceId: integer('invoice_id') })
const invoicesToLines = relations(invoices, ({ many }) => ({ lines: many(lines) }))
const linesToInvoice = relations(lines, ({ one }) => ({
  invoice: one(invoices, { fields: [lines.invoiceId], references: [invoices.id] }),
}))
const schema = { effects, invoices, lines, invoicesToLines, linesToInvoice }
type Tx = DrizzleTx<typeof schema>

const underTest: BindingUnderTest<Tx, SqliteTx> = {
  name: 'Drizzle on SQLite',
  open: (worker) => openBoundSqlite(drizzleTx({ schema }), worker),
  insert: async (tx, eventKey, note) => tx.insert(effects).values({ eventKey, note }),
  nest: (tx, work) => tx.transaction(work),
  run: (tx, text) => tx.run(sql.raw(text)),
  asOwn: (tx) => fromDrizzle(tx),
}

describe('hookonce/drizzle/sqlite', () => {
  bindingContract(underTest)
  readingBindingContract(underTest, async (tx, key) => {
    const rows = await tx.select().from(effects).where(eq(effects.eventKey, key))
    return rows.some(({ eventKey }) => eventKey === key)
  })
  killContract(underTest, {
    program: new URL('killed-process.ts', import.meta.url),
    library: 'drizzle-sqlite',
  })

  /** Runs `work` as a handler, and gives what it returned. */
  async function inHandler<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const { inbox, deliver, untilAll, query } = await openBoundSqlite(drizzleTx({ schema }))
    await query(
      'create table invoices (id integer primary key, paid_at, is_paid, data text, cents blob)',
    )
    await query('create table lines (id integer primary key, invoice_id integer)')
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

  test("is typed as what the proxy driver's db.transaction gives", async () => {
    type Own = Parameters<Parameters<SqliteRemoteDatabase<typeof schema>['transaction']>[0]>[0]
    const { inbox } = await openBoundSqlite(drizzleTx({ schema }))
    inbox.on('pings', '*', async (_event, { tx, sql: raw }) => {
      expectTypeOf(tx).toEqualTypeOf<Own>()
      expectTypeOf(raw).toEqualTypeOf<SqliteTx>()
      expectTypeOf<SqliteRemoteDatabase<typeof schema>['select']>().toEqualTypeOf<Tx['select']>()
    })
  })

  test('reads back times, booleans, JSON and big integers as Drizzle writes them', async () => {
    const row = {
      id: 1,
      paidAt: new Date('2026-03-29T01:30:00.123Z'),
      isPaid: true,
      data: { nested: ['€', { deep: true }] },
      cents: 9_007_199_254_740_993n,
    }

    const rows = await inHandler(async (tx) => {
      await tx.insert(invoices).values(row)
      return tx.select().from(invoices)
    })

    expect(rows).toEqual([row])
  })

  test('has relations, joins with equal names, RETURNING and one row or none', async () => {
    const found = await inHandler(async (tx) => {
      await tx.insert(invoices).values([{ id: 1 }, { id: 2 }])
      const made = await tx.insert(lines).values({ id: 7, invoiceId: 1 }).returning()
      return {
        made,
        related: await tx.query.invoices.findFirst({
          columns: { id: true },
          with: { lines: true },
        }),
        // Both columns are called id: in a row that is an object there is one of them.
        joined: await tx
          .select({ line: lines.id, invoice: invoices.id })
          .from(lines)
          .innerJoin(invoices, eq(lines.invoiceId, invoices.id)),
        got: await tx.select().from(lines).where(eq(lines.id, 7)).get(),
        none: await tx.select().from(lines).where(eq(lines.id, 8)).get(),
      }
    })

    expect(found).toEqual({
      made: [{ id: 7, invoiceId: 1 }],
      related: { id: 1, lines: [{ id: 7, invoiceId: 1 }] },
      joined: [{ line: 7, invoice: 1 }],
      got: { id: 7, invoiceId: 1 },
      none: undefined,
    })
  })

  test('is not for the other store, and says so where types cannot', () => {
    // @ts-expect-error it is for PostgreSQL
    expect(() => sqliteStore('never-opened.db', { tx: drizzlePostgresTx() })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
  })
})
