import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './markdown.ts'

const readInstalled = (file: string) =>
  (
    JSON.parse(fs.readFileSync(path.join(ROOT, file), 'utf8')) as {
      readonly devDependencies: Readonly<Record<string, string>>
    }
  ).devDependencies

/** What the tests run with, here and in `npm run test:orms`. */
const INSTALLED = { ...readInstalled('package.json'), ...readInstalled('test/orms/package.json') }

test.each([
  ['drizzle', 'drizzle-orm'],
  ['knex', 'knex'],
  ['prisma', '@prisma/client'],
  ['sequelize', 'sequelize'],
  ['postgres-js', 'postgres'],
])('the page on %s names the version that the tests have, and no other', (page, library) => {
  const text = fs.readFileSync(path.join(ROOT, `docs/guides/${page}.md`), 'utf8')

  const [, said, ...more] = /tested with ([\d.]*\d)/.exec(text) ?? []

  expect(more).toEqual([])
  expect(said).toMatch(/^\d+\.\d+$/)
  expect(INSTALLED[library]).toMatch(new RegExp(`^${said}\\.`))
})

/** `test/orms/vitest.config.ts` runs the tests of TypeORM a second time, with the older version. */
test('the page on TypeORM names both versions that the tests have', () => {
  const text = fs.readFileSync(path.join(ROOT, 'docs/guides/typeorm.md'), 'utf8')
  const config = fs.readFileSync(path.join(ROOT, 'test/orms/vitest.config.ts'), 'utf8')

  const [, newer, older] =
    /tested with TypeORM (\d+\.\d+) and (\d+\.\d+\.\d+), with the types of \1\./.exec(text) ?? []

  expect(INSTALLED['typeorm']).toMatch(new RegExp(`^${newer}\\.`))
  expect(INSTALLED['typeorm03']).toBe(`npm:typeorm@${older}`)
  expect(config).toContain("{ find: /^typeorm$/, replacement: 'typeorm03' }")
})

/** It runs the tests of MikroORM a second time, with the newer version. */
test('the page on MikroORM names both versions that the tests have', () => {
  const text = fs.readFileSync(path.join(ROOT, 'docs/guides/mikro-orm.md'), 'utf8')
  const config = fs.readFileSync(path.join(ROOT, 'test/orms/vitest.config.ts'), 'utf8')
  const newest = readInstalled('test/orms/mikro-orm-7/package.json')

  const [, newer, older] =
    /tested with MikroORM (\d+\.\d+) and (\d+\.\d+), and with the types of both\./.exec(text) ?? []

  expect(newest['@mikro-orm/core']).toMatch(new RegExp(`^${newer}\\.`))
  expect(INSTALLED['@mikro-orm/core']).toMatch(new RegExp(`^${older}\\.`))
  expect(config).toContain(
    "replacement: fileURLToPath(new URL('mikro-orm-7/node_modules/@mikro-orm/'",
  )
})

/** It runs the tests of Kysely a second time, with the one that MikroORM 7 has. */
test('the page on Kysely names both versions that the tests have', () => {
  const text = fs.readFileSync(path.join(ROOT, 'docs/guides/kysely.md'), 'utf8')
  const lock = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'test/orms/mikro-orm-7/package-lock.json'), 'utf8'),
  ) as { readonly packages: Readonly<Record<string, { readonly version?: string }>> }

  const [, newer, older] = /tested with (\d+\.\d+) and (\d+\.\d+)\)/.exec(text) ?? []

  expect(lock.packages['node_modules/kysely']?.version).toMatch(new RegExp(`^${newer}\\.`))
  expect(INSTALLED['kysely']).toMatch(new RegExp(`^${older}\\.`))
})
