/** `examples/nextjs-prisma` as it is, without its test: built by Next.js, and run on a PostgreSQL. */

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../support/postgres/open-postgres.ts'
import { databaseUrl } from '../support/run-example.ts'
import { createFolder, deliver, runToEnd, startService } from './run-next.ts'

const EXAMPLE = path.join(import.meta.dirname, '../../examples/nextjs-prisma')
const PRISMA = path.join(import.meta.dirname, 'node_modules/prisma/build/index.js')
/** What is not copied: what another test has installed or made there, and the test. */
const LEFT = /^(node_modules|generated|\.next|.*\.test\.ts)$/

test.skipIf(hasNoPostgres)('the example with Prisma is built, and books an invoice', async () => {
  const folder = createFolder()
  for (const name of fs.readdirSync(EXAMPLE).filter((one) => !LEFT.test(one)))
    fs.cpSync(path.join(EXAMPLE, name), path.join(folder, name), { recursive: true })
  const config = `export default { turbopack: { root: ${JSON.stringify(import.meta.dirname)} } }`
  fs.writeFileSync(path.join(folder, 'next.config.mjs'), config)

  const { DATABASE_URL: _none, ...env } = process.env
  execFileSync(process.execPath, [PRISMA, 'generate', '--no-hints'], {
    cwd: folder,
    // A program in the place of the engine for migrations, which is not used and would be downloaded.
    env: { ...env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const built = await runToEnd(folder, ['build'])
  expect(built.output).toContain('/webhooks/stripe')
  expect(built.code).toBe(0)

  const database = await createPostgresDatabase()
  const pool = newPool(database)
  // What a migration of Prisma's would make.
  await pool.query(
    'create table payments (id serial primary key, invoice text not null, cents integer not null)',
  )
  const url = await startService(folder, { DATABASE_URL: databaseUrl(database) })
  const { status } = await deliver(`${url}/webhooks/stripe`)

  expect(status).toBe(200)
  const listPaid = async (): Promise<unknown> =>
    (await pool.query('select invoice, cents from payments')).rows
  await expect
    .poll(listPaid, { timeout: 60_000 })
    .toEqual([{ invoice: 'in_of_the_test', cents: 4200 }])
})
