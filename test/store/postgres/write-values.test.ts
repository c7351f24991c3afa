import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, done } from '../../support/store-steps.ts'

class Money {
  readonly cents: number
  constructor(cents: number) {
    this.cents = cents
  }
  toPostgres(): string {
    return (this.cents / 100).toFixed(2)
  }
}

const bytes = Buffer.from([0, 255, 92, 39, 120])
const large = Buffer.from('xxbytesxx')

const VALUES: readonly (readonly [string, string, unknown])[] = [
  ['null', 'text', null],
  ['undefined', 'text', undefined],
  ['an empty text', 'text', ''],
  ['a text with everything', 'text', `é🪝 'quoted' "twice" \\ back\nline {a,b} $1`],
  ['half of a surrogate pair', 'text', 'a\ud800b'],
  ['a whole number', 'integer', -42],
  ['a fraction', 'float8', 0.1],
  ['a minus zero', 'float8', -0],
  ['a large number', 'float8', 1e21],
  ['not a number', 'float8', NaN],
  ['a bigint', 'bigint', 2n ** 62n],
  ['a boolean', 'boolean', false],
  ['a date', 'timestamptz', new Date('2026-03-04T05:06:07.089Z')],
  ['a date before our era', 'timestamptz', new Date('-000044-03-15T12:00:00Z')],
  ['bytes', 'bytea', bytes],
  ['a view of bytes', 'bytea', new Uint8Array(large.buffer, large.byteOffset + 2, 5)],
  ['other views of bytes', 'bytea', new Uint16Array([1, 2, 65_535])],
  ['no bytes', 'bytea', Buffer.alloc(0)],
  ['a list of numbers', 'integer[]', [1, null, 3]],
  ['a list of texts', 'text[]', ['a', 'b"c', 'd\\e', '{f,g}', 'NULL', null, '']],
  ['a list of dates', 'timestamptz[]', [new Date(0), new Date(1_767_323_045_000)]],
  ['a list of bytes', 'bytea[]', [bytes, Buffer.alloc(0)]],
  [
    'a list of lists',
    'integer[]',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['no list', 'text[]', []],
  ['an object', 'jsonb', { a: [1, { b: null }], 'é"': 'x', at: new Date(0), none: undefined }],
  ['a list of objects', 'jsonb[]', [{ a: 1 }, { b: '"' }]],
  ['a text that is JSON', 'jsonb', '{"a":1}'],
  ['what says how it is written', 'numeric', new Money(1_234)],
  ['what says it is bytes', 'bytea', { toPostgres: () => bytes }],
  ['what is JSON of its own', 'jsonb', { toJSON: () => ({ kind: 'own' }) }],
  ['a map, which is an empty object', 'jsonb', new Map([['a', 1]])],
]

async function openGroup() {
  const opened = await openPostgres()
  await opened.store.events.record([anEventDraft()], { deadlineMs: 20_000 })
  await opened.query('create table kept (name text, value text)')
  const group = await claim(opened.store)
  const end = async () => {
    await group.flush()
    await group.settle(group.events.map(done))
    expect(await group.commit()).toEqual({ status: 'committed' })
  }
  return { ...opened, group, end, tx: group.lend().tx }
}

describe.skipIf(hasNoPostgres)('the values of writes', () => {
  test('arrive as those of a query do', async () => {
    const { tx, end, query } = await openGroup()
    for (const [name, type, value] of VALUES) {
      const text = `insert into kept values ($1, ($2::${type})::text)`
      await tx.query(text, [`query: ${name}`, value])
      tx.write(text, [`write: ${name}`, value])
    }
    await end()

    const rows = await query('select name, value from kept')
    const find = (how: string, name: string) =>
      rows.find((row) => row['name'] === `${how}: ${name}`)?.['value']
    for (const [name] of VALUES) expect(find('write', name), name).toEqual(find('query', name))
    expect(find('write', 'an object')).toContain('1970')
    expect(find('write', 'what says how it is written')).toBe('12.34')
    expect(find('write', 'a view of bytes')).toBe(`\\x${Buffer.from('bytes').toString('hex')}`)
    expect(find('write', 'undefined')).toBeNull()
  })

  test('are those that they were at the call', async () => {
    const { tx, end, query } = await openGroup()
    const changing = {
      data: Buffer.from('as it was'),
      list: ['as it was'],
      object: { as: { it: 'was' } },
      date: new Date(0),
    }
    tx.write(`insert into kept values ('data', convert_from($1, 'UTF8'))`, [changing.data])
    tx.write(`insert into kept values ('list', ($1::text[])[1])`, [changing.list])
    tx.write(`insert into kept values ('object', $1::jsonb->'as'->>'it')`, [changing.object])
    tx.write(`insert into kept values ('date', extract(epoch from $1::timestamptz))`, [
      changing.date,
    ])
    changing.data.fill('x')
    changing.list[0] = 'changed'
    changing.object.as.it = 'changed'
    changing.date.setFullYear(2000)
    await end()

    expect(await query('select name, value from kept')).toEqual([
      { name: 'data', value: 'as it was' },
      { name: 'list', value: 'as it was' },
      { name: 'object', value: 'was' },
      { name: 'date', value: '0.000000' },
    ])
  })

  test('that cannot be sent are refused at the call, and what else was written is', async () => {
    const { tx, end, query } = await openGroup()
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const endless = { toPostgres: () => endless }
    tx.write('insert into kept values ($1)', ['before'])

    for (const value of [circular, [circular], endless])
      expect(() => tx.write('insert into kept values ($1)', [value])).toThrow(/circular/)

    tx.write('insert into kept values ($1)', ['after'])
    await end()
    expect(await query('select name from kept')).toEqual([{ name: 'before' }, { name: 'after' }])
  })
})
