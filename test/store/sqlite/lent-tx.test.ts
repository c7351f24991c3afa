import { describe, expect, onTestFinished, test } from 'vitest'
import type { SqliteTx } from '../../../src/store/sqlite/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { openInbox } from '../../support/inbox-under-test.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, done, nextDueInMs, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)

async function openGroup() {
  const opened = await openStore(underTest)
  await opened.createEffects()
  await recordOne(opened.store, anEventDraft())
  const group = await claim(opened.store)
  return { ...opened, group, tx: group.lend().tx as SqliteTx }
}

describe('sqlite: the lent transaction', () => {
  test('takes its parameters by number, wherever they stand', async () => {
    const { tx } = await openGroup()

    expect((await tx.query('select $2 as a, $1 as b, $2 as c', ['one', 'two'])).rows).toEqual([
      { a: 'two', b: 'one', c: 'two' },
    ])
    expect((await tx.query("select ? as a, '$1' as b", ['one'])).rows).toEqual([
      { a: 'one', b: '$1' },
    ])
  })

  test('gives back what it was given', async () => {
    const { tx } = await openGroup()
    const bytes = new Uint8Array([0, 255, 7])
    const params = [true, false, null, undefined, 1.5, 42, 2n ** 60n, 'é', bytes, new Uint8Array(0)]

    const { rows } = await tx.query(
      `select ${params.map((_, index) => `$${index + 1} as p${index}`).join(', ')}`,
      params,
    )

    const values = Object.values(rows[0] ?? {})
    expect(values.slice(0, 8)).toEqual([1, 0, null, null, 1.5, 42, 2n ** 60n, 'é'])
    expect(values[8]).toBeInstanceOf(Uint8Array)
    expect([...(values[8] as Uint8Array)]).toEqual([0, 255, 7])
    expect([...(values[9] as Uint8Array)]).toEqual([])
  })

  test('gives rows as lists where it is asked to, also beside objects of the same text', async () => {
    const { tx } = await openGroup()
    const text = 'select 1 as a, $1 as a, $2 as b'
    const values = [2n ** 60n, new Uint8Array([7])]

    for (let round = 0; round < 2; round += 1) {
      const { rows, rowCount } = await tx.query(text, values, { rowMode: 'array' })
      expect(rows).toEqual([[1, 2n ** 60n, new Uint8Array([7])]])
      expect(rowCount).toBe(1)
      const { rows: objects } = await tx.query(text, values)
      expect(objects).toEqual([{ a: 2n ** 60n, b: new Uint8Array([7]) }])
    }
    const insert = await tx.query("insert into effects values ('a', 'b')", [], { rowMode: 'array' })
    expect(insert).toEqual({ rows: [], rowCount: 1, columns: [] })
    await expect(tx.query(text, values, { rowMode: 'list' as 'array' })).rejects.toThrow(
      'tx.query rowMode',
    )
  })

  test('gives rows as lists also where it only reads', async () => {
    const { store } = await openGroup()
    const reading = await store.readings.open({ statementTimeoutMs: 0, idleTimeoutMs: 60_000 })
    onTestFinished(() => reading.close())
    const tx = reading.lend().tx as SqliteTx

    const { rows, columns } = await tx.query('select 1 as a, 2 as a', [], { rowMode: 'array' })

    expect(rows).toEqual([[1, 2]])
    expect(columns?.map(({ name }) => name)).toEqual(['a', 'a'])
    expect((await tx.query('select 1 as a')).rows).toEqual([{ a: 1 }])
  })

  test('tells of the columns of rows as lists, in their order and as they are declared', async () => {
    const { tx } = await openGroup()
    await tx.query('create table dated (id integer primary key, paid_at DateTime, any)')
    const text = 'select any, paid_at, id, id + 1 as id from dated'

    const { columns = [] } = await tx.query(text, [], { rowMode: 'array' })

    const told = columns.map(({ name, type }) => [name, type?.toLowerCase() ?? null])
    expect(told).toEqual([
      ['any', null],
      ['paid_at', 'datetime'],
      ['id', 'integer'],
      ['id', null],
    ])
    expect(await tx.query(text)).not.toHaveProperty('columns')
  })

  test('keeps a whole number whole', async () => {
    const { tx } = await openGroup()

    expect((await tx.query('select typeof($1) as t', [42])).rows).toEqual([{ t: 'integer' }])
  })

  test('refuses a parameter that SQLite cannot hold, by name', async () => {
    const { tx } = await openGroup()

    await expect(tx.query('select $1', [new Date()])).rejects.toThrow(/Date/)
    await expect(tx.query('select $1', [{ a: 1 }])).rejects.toThrow(/JSON/)
  })

  test('runs every statement of a text, or none of it when it has parameters', async () => {
    const { tx } = await openGroup()
    const two = "insert into effects values ('a', '1'); insert into effects values ('b', '2')"

    await tx.query(two)
    await expect(tx.query(two, ['x'])).rejects.toThrow(/several statements/)

    expect((await tx.query('select count(*) as found from effects')).rows).toEqual([{ found: 2 }])
  })

  test.each(['pragma foreign_keys = off', "attach ':memory:' as other", 'detach other', 'vacuum'])(
    'refuses %j',
    async (sql) => {
      const { tx } = await openGroup()

      await expect(tx.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
    },
  )

  // Without a transaction each further statement would commit by itself.
  test('is closed for good when a statement makes SQLite roll back by itself', async () => {
    const { tx, group, countEffects, store } = await openGroup()
    await tx.query('create table once (id integer primary key on conflict rollback)')
    await tx.query('insert into once values (1)')
    await expect(tx.query('insert into once values (1)')).rejects.toThrow()

    expect(group.status()).toBe('lost')
    await expect(tx.query("insert into effects values ('a', 'stray')")).rejects.toMatchObject({
      code: 'TRANSACTION_ENDED',
    })
    await expect(group.settle(group.events.map(done))).rejects.toMatchObject({
      code: 'TRANSACTION_ENDED',
    })
    expect(await group.commit()).toMatchObject({ status: 'refused' })
    expect(await countEffects()).toBe(0)
    expect(await nextDueInMs(store)).toBe(0)
  })

  // As on a full disk. Had it counted as the handler's own ROLLBACK, the event would be dead.
  test('lost to a rollback by SQLite itself, it costs one attempt and the event runs again', async () => {
    const { inbox, deliver, next, database, countEffects } = await openInbox(underTest)
    await database.query('create table once (id integer primary key)')
    inbox.on(
      'stripe',
      'invoice.paid',
      { retry: { firstMs: 0 } },
      async (event, { tx, attempt }) => {
        await tx.query('insert into effects (event_key) values ($1)', [event.key])
        if (attempt === 1) await tx.query('insert or rollback into once values (1), (1)')
      },
    )
    await inbox.start()
    const finished = next('event.done')

    const { eventId = '' } = await deliver('evt_1')
    await finished

    expect(await countEffects('evt_1')).toBe(1)
    expect(await inbox.admin.findEvent(eventId)).toMatchObject({
      state: 'done',
      failures: [{ attempt: 1, reason: 'connection' }],
    })
  })
})
