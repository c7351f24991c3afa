/** What the pages on libraries say that a handler costs, beside what was measured last. */

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readPage, ROOT } from './markdown.ts'

interface Ratio {
  readonly of: string
  readonly against: string
  /** Left out for the rate. */
  readonly figure?: string
  readonly median: number
}

const RESULTS = path.join(ROOT, 'bench/results')
const [latest = ''] = fs
  .readdirSync(RESULTS)
  .filter((name) => name.endsWith('-W2-stack.json'))
  .sort()
  .reverse()
const { result } = JSON.parse(fs.readFileSync(path.join(RESULTS, latest), 'utf8')) as {
  readonly result: { readonly ratios: readonly Ratio[] }
}

const PAGES: Readonly<Record<string, string>> = {
  Drizzle: 'drizzle',
  Knex: 'knex',
  Kysely: 'kysely',
  MikroORM: 'mikro-orm',
  'postgres.js': 'postgres-js',
  Prisma: 'prisma',
  Sequelize: 'sequelize',
  TypeORM: 'typeorm',
}

/** Rates are told with two decimals, and the processor's time, which varies more, with one. */
function measured(of: string, digits: number, figure?: string): string {
  const found = result.ratios.filter(
    (ratio) => ratio.of === of && ratio.against === 'tx.query' && ratio.figure === figure,
  )
  expect(found).toHaveLength(1)
  return found[0]?.median.toFixed(digits) ?? ''
}

test.each(Object.entries(PAGES))('the page on %s says what was measured last', (library, page) => {
  const { text } = readPage(`docs/guides/${page}.md`)

  const said =
    /one row by ([\w.]+) runs ([\d.]+) times as often .* takes ([\d.]+) times the processor time/.exec(
      text,
    )

  expect(said?.slice(1)).toEqual([
    library,
    measured(library, 2),
    measured(library, 1, 'own µs/event'),
  ])
})

test('every library that was measured has a page that says so', () => {
  const names = result.ratios.filter(({ figure }) => figure === undefined).map(({ of }) => of)

  // Ours alone: SQL without a library.
  expect(names.filter((name) => name !== 'tx.write').sort()).toEqual(Object.keys(PAGES).sort())
})
