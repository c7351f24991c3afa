import { EventEmitter } from 'node:events'
import pg from 'pg'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { asPgClient } from '../../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim } from '../../support/store-steps.ts'

async function openClient() {
  const { store, query } = await openPostgres()
  await query('create table effects (note text)')
  await store.events.record([anEventDraft()], { deadlineMs: 20_000 })
  const group = await claim(store)
  onTestFinished(() => group.abandon())
  const lent = group.lend()
  return { client: asPgClient<pg.PoolClient>(lent.tx), lent, query }
}

/** The rows that a query called back with. */
function calledBack(
  ask: (callback: (error: Error | null, result: pg.QueryResult) => void) => void,
) {
  return new Promise((resolve, reject) => {
    ask((error, result) => (error === null ? resolve(result.rows) : reject(error)))
  })
}

describe.skipIf(hasNoPostgres)('asPgClient', () => {
  test('answers to every form of a query with a promise', async () => {
    const { client } = await openClient()
    const forms = [
      client.query('select 1 as a'),
      client.query('select $1::int as a', [1]),
      client.query({ text: 'select $1::int as a', values: [1] }),
      client.query({ text: 'select $1::int as a' }, [1]),
      client.query({ name: 'one', text: 'select $1::int as a', values: [1] }),
    ]

    for (const { rows } of await Promise.all(forms)) expect(rows).toEqual([{ a: 1 }])
    expect((await client.query({ text: 'select 1, 2', rowMode: 'array' })).rows).toEqual([[1, 2]])
    const types = { getTypeParser: () => (value: unknown) => `read ${String(value)}` }
    const read = await client.query({ text: 'select 1 as a', types } as pg.QueryConfig)
    expect(read.rows).toEqual([{ a: 'read 1' }])
  })

  test('calls back, wherever the callback stands', async () => {
    const { client } = await openClient()

    const answers = await Promise.all([
      calledBack((callback) => client.query('select 1 as a', callback)),
      calledBack((callback) => client.query('select $1::int as a', [1], callback)),
      calledBack((callback) => client.query({ text: 'select 1 as a' } as never, callback)),
      calledBack((callback) => client.query({ text: 'select 1 as a', callback } as never)),
      calledBack((callback) => client.query(new TextBehindGetter(callback) as never)),
    ])

    expect(answers).toEqual(Array.from({ length: 5 }, () => [{ a: 1 }]))
    await expect(
      calledBack((callback) => client.query('select no_such_column', callback)),
    ).rejects.toMatchObject({ code: '42703' })
  })

  test('can be listened to, released and ended, and goes on', async () => {
    const { client } = await openClient()

    expect(client).toBeInstanceOf(EventEmitter)
    client.on('error', () => undefined).once('end', () => undefined)
    client.removeAllListeners()
    client.release()
    client.release(true)
    await (client as unknown as pg.Client).connect()
    await (client as unknown as pg.Client).end()

    expect((await client.query('select 1 as a')).rows).toEqual([{ a: 1 }])
  })

  test('quotes names and texts as pg does', async () => {
    const { client } = await openClient()

    for (const text of ['a', "it's", 'a\\b', '"q"', '']) {
      expect(client.escapeIdentifier(text)).toBe(pg.escapeIdentifier(text))
      expect(client.escapeLiteral(text)).toBe(pg.escapeLiteral(text))
    }
  })

  test('makes a savepoint of a transaction, and cannot end the one around it', async () => {
    const { client } = await openClient()
    await client.query('begin')
    await client.query("insert into effects values ('undone')")
    expect(await client.query('rollback')).toMatchObject({ command: 'ROLLBACK', rows: [] })
    await client.query('begin')
    await client.query("insert into effects values ('kept')")
    await client.query('commit')

    expect((await client.query('select note from effects')).rows).toEqual([{ note: 'kept' }])
    for (const end of ['commit', 'rollback', 'commit; begin']) {
      await expect(client.query(end)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
    }
  })

  test('refuses what would read on by itself, and what comes after the handler', async () => {
    const { client, lent } = await openClient()
    expect(() => client.query({ submit: () => undefined } as never)).toThrow('submits itself')
    await lent.revoke()

    await expect(client.query('select 1')).rejects.toMatchObject({ code: 'TX_REVOKED' })
    await expect(
      calledBack((callback) => client.query('select 1', callback)),
    ).rejects.toMatchObject({ code: 'TX_REVOKED' })
  })

  test('is made of the transaction of a handler, and of nothing else', async () => {
    const pool = new pg.Pool()
    onTestFinished(() => pool.end())

    for (const given of [pool, undefined, {}]) {
      expect(() => asPgClient(given as unknown as PostgresTx)).toThrow('asPgClient must be given')
    }
    expectTypeOf(asPgClient<pg.PoolClient>).returns.toEqualTypeOf<pg.PoolClient>()
  })
})

/** What libraries that put queries together may hand over. */
class TextBehindGetter {
  readonly callback: unknown

  constructor(callback: unknown) {
    this.callback = callback
  }

  get text(): string {
    return ['select', '1 as a'].join(' ')
  }
}
