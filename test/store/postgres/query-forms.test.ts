/** `tx.query` beside a client of `pg`: each way to ask has the same answer, or is refused by its name. */

import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { claim } from '../../support/store-steps.ts'

/** As a handler that was written for `pg` calls it. */
interface Asked {
  query(...args: unknown[]): Promise<unknown>
}

const AS_TEXT = { getTypeParser: () => (value: unknown) => value }

/** What `sql-template-strings` and its kind make: the text is read through the prototype. */
class Template {
  readonly values = ['one']
  readonly type = 'text'
  get text(): string {
    return `select $1::${this.type} as a`
  }
}

/** The parsers of \`pg\`, and another one for a type. */
function parsersWith(type: number, parser: (value: unknown) => unknown) {
  const { getTypeParser } = pg.types as unknown as {
    getTypeParser(oid: number, format?: string): (value: unknown) => unknown
  }
  return {
    getTypeParser: (oid: number, format?: string) =>
      oid === type ? parser : getTypeParser(oid, format),
  }
}

const TIMESTAMP: number = pg.types.builtins.TIMESTAMP
const INT8: number = pg.types.builtins.INT8

const FORMS: readonly (readonly [string, (asked: Asked) => Promise<unknown>])[] = [
  ['a text', (asked) => asked.query('select 1 as a')],
  ['a text and values', (asked) => asked.query('select $1::int as a', [2])],
  ['a text and no values', (asked) => asked.query('select 1 as a', [])],
  ['a text and null', (asked) => asked.query('select 1 as a', null)],
  ['a text and undefined', (asked) => asked.query('select 1 as a', undefined)],
  ['a config', (asked) => asked.query({ text: 'select 1 as a' })],
  ['a config with values', (asked) => asked.query({ text: 'select $1::int as a', values: [2] })],
  ['a config with null', (asked) => asked.query({ text: 'select 1 as a', values: null })],
  ['a config and values', (asked) => asked.query({ text: 'select $1::int as a' }, [3])],
  [
    'a config with values, and others',
    (asked) => asked.query({ text: 'select $1::int as a', values: [2] }, [3]),
  ],
  [
    'a config with values, and none',
    (asked) => asked.query({ text: 'select $1::int as a', values: [2] }, []),
  ],
  ['rows as lists', (asked) => asked.query({ text: 'select 1 as a, 2 as a', rowMode: 'array' })],
  [
    'rows as lists, and values',
    (asked) => asked.query({ text: 'select $1::int', rowMode: 'array' }, [4]),
  ],
  [
    'parsers of its own',
    (asked) =>
      asked.query({ text: `select timestamp '2026-01-02 03:04:05' as a, 7 as b`, types: AS_TEXT }),
  ],
  [
    'parsers of its own for some types',
    (asked) =>
      asked.query({
        text: `select timestamp '2026-01-02 03:04:05' as a, 7 as b, '{1,2}'::int[] as c`,
        types: parsersWith(TIMESTAMP, (value) => value),
      }),
  ],
  [
    'the parsers of the pool',
    (asked) =>
      asked.query(
        `select timestamp '2026-01-02 03:04:05' as a, 7::bigint as b, now() > 'epoch' as c`,
      ),
  ],
  ['a name', (asked) => asked.query({ name: 'by-name', text: 'select $1::int as a', values: [5] })],
  [
    'a name and values',
    (asked) => asked.query({ name: 'by-name', text: 'select $1::int as a' }, [6]),
  ],
  ['a name without values', (asked) => asked.query({ name: 'alone', text: 'select 1 as a' })],
  [
    'a name that is taken by another text',
    (asked) => asked.query({ name: 'by-name', text: 'select $1::text as a', values: ['x'] }),
  ],
  [
    'binary answers',
    (asked) => asked.query({ text: 'select $1::int as a', values: [7], binary: true }),
  ],
  [
    'binary answers and parsers of its own',
    (asked) =>
      asked.query({ text: 'select $1::int as a', values: [7], binary: true, types: AS_TEXT }),
  ],
  [
    'one statement and no more',
    (asked) => asked.query({ text: 'select 1 as a; select 2 as b', queryMode: 'extended' }),
  ],
  ['several statements', (asked) => asked.query('select 1 as a; select 2 as b, 3 as c')],
  ['several statements and no values', (asked) => asked.query('select 1 as a; select 2 as b', [])],
  ['several statements and values', (asked) => asked.query('select $1::int; select 2', [1])],
  ['an object that has its text from its class', (asked) => asked.query(new Template())],
  ['nothing to do', (asked) => asked.query('')],
  ['what changes rows', (asked) => asked.query('update things set a = a + 1 where a > $1', [1])],
  [
    'what changes rows and returns them',
    (asked) => asked.query('insert into things values (9) returning a'),
  ],
  ['a mistake', (asked) => asked.query('select $1::int as a', ['not a number'])],
  ['values that are missing', (asked) => asked.query('select $1::int as a')],
]

async function openBoth(poolOptions: pg.PoolConfig = {}) {
  const config = await createPostgresDatabase()
  const outside = newPool({ ...config, ...poolOptions })
  await outside.query('create table things (a int); insert into things values (1), (2), (3)')
  const store = await openStoreOn({ ...config, ...poolOptions })
  // Two, so that statements which are repeated get names of ours.
  const drafts = [anEventDraft({ key: 'evt_1' }), anEventDraft({ key: 'evt_2' })]
  await store.events.record(drafts, { deadlineMs: 20_000 })
  const group = await claim(store)
  onTestFinished(() => group.abandon())
  const client = await outside.connect()
  onTestFinished(() => client.release(true))
  await client.query('begin')
  return { group, tx: group.lend().tx as unknown as Asked, client: client as unknown as Asked }
}

type Answer = { readonly ok: unknown } | { readonly failed: unknown }

/** The answer, as far as it can be the same twice. What failed is undone. */
async function answerOf(asked: () => Promise<unknown>): Promise<Answer> {
  try {
    const answer = await asked()
    return { ok: Array.isArray(answer) ? answer.map(readResult) : readResult(answer) }
  } catch (error) {
    const { message, code } = error as { message: string; code?: string }
    return { failed: { message, code } }
  }
}

function readResult(result: unknown): unknown {
  const { command, rowCount, rows, fields } = result as pg.QueryResult
  const columns = fields.map(({ name, dataTypeID, format }) => ({ name, dataTypeID, format }))
  return { command, rowCount, rows, columns }
}

describe.skipIf(hasNoPostgres)('a handler that asks with', () => {
  const types = parsersWith(INT8, (value) => `int8 ${String(value)}`)

  test.each(FORMS)('%s has the answer of pg', async (name, ask) => {
    const { group, tx, client } = await openBoth(
      name === 'the parsers of the pool' ? { types } : {},
    )
    // Without this the name would be new in each.
    const isTaken = name === 'a name that is taken by another text'
    const before = { name: 'by-name', text: 'select $1::int as a', values: [5] }
    for (const asked of isTaken ? [tx, client] : []) await asked.query(before)
    await group.setSavepoint('before')
    await client.query('savepoint before')

    // Often enough that a statement of ours would be prepared.
    for (let round = 0; round < 7; round += 1) {
      const expected = await answerOf(() => ask(client))
      // At once: the other would wait for its locks.
      await client.query('rollback to savepoint before')

      expect(await answerOf(() => ask(tx))).toEqual(expected)

      await group.rollbackTo('before')
    }
  })

  test('a time without a zone reads it as pg does, whatever zone the process is in', async () => {
    const before = process.env['TZ']
    onTestFinished(() => {
      if (before === undefined) delete process.env['TZ']
      else process.env['TZ'] = before
    })
    const { tx, client } = await openBoth()
    for (const zone of ['Asia/Karachi', 'America/St_Johns', 'UTC']) {
      process.env['TZ'] = zone
      const text = `select timestamp '2026-01-02 03:04:05' as a`
      for (const query of [{ text }, { text, types: AS_TEXT }]) {
        const expected = await answerOf(() => client.query(query))

        expect(await answerOf(() => tx.query(query))).toEqual(expected)
      }
    }
  })

  const callback = (): void => undefined
  const submittable = { submit: () => undefined, text: 'select 1' }

  // A caller with a callback awaits no promise, so that a rejection would not be handled.
  test.each<[string, readonly unknown[], string]>([
    ['a callback', ['select 1', callback], 'callback'],
    ['a callback behind values', ['select 1', [], callback], 'callback'],
    ['a callback in a config', [{ text: 'select 1', callback }], 'callback'],
    ['a cursor or a stream', [submittable], 'pg-cursor'],
  ])('%s is told at once that it is not supported', async (_what, args, named) => {
    const { tx } = await openBoth()

    expect(() => tx.query(...args)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(named) }),
    )
  })

  test.each<[string, readonly unknown[], string]>([
    ['no text', [{ name: 'by-name' }], 'tx.query text'],
    ['nothing', [undefined], 'tx.query'],
    ['values that are no list', ['select 1', { a: 1 }], 'tx.query values'],
    ['a part of the rows', [{ text: 'select 1', rows: 1 }], 'tx.query rows'],
    ['a portal', [{ text: 'select 1', portal: 'p' }], 'tx.query portal'],
    ['a time limit of its own', [{ text: 'select 1', query_timeout: 5 }], 'tx.query query_timeout'],
    ['a name of ours', [{ text: 'select 1', name: 'hookonce_x' }], 'tx.query name'],
    ['a name that is none', [{ text: 'select 1', name: 7 }], 'tx.query name'],
  ])('%s is told that it is not supported', async (_what, args, named) => {
    const { tx } = await openBoth()

    await expect(tx.query(...args)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(named),
    })
    expect(await answerOf(() => tx.query('select 1 as a'))).toMatchObject({
      ok: { rows: [{ a: 1 }] },
    })
  })
})
