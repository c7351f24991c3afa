/** A service in CommonJS, as most of those with TypeORM are, with the packed package. */

import { execFile } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createEmptyPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { listenOnTcp } from '../support/postgres/listen-on-tcp.ts'
import { createUserProject } from '../support/user-project.ts'

test.skipIf(hasNoPostgres)('TypeORM and its binding are required by one file', async () => {
  const { folder } = createUserProject({ 'service.cjs': SERVICE }, ['hookonce', 'pg'])
  const typeorm = join(import.meta.dirname, 'node_modules/typeorm')
  symlinkSync(typeorm, join(folder, 'node_modules/typeorm'))
  const { url, close } = await listenOnTcp(await createEmptyPostgresDatabase())
  onTestFinished(close)

  const { stdout } = await promisify(execFile)(process.execPath, ['service.cjs'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: url },
    timeout: 110_000,
  })

  expect(stdout).toBe('200 200 [{"id":"evt_1"}] true\n')
})

const SERVICE = `
const pg = require('pg')
const { DataSource, EntityManager, EntitySchema } = require('typeorm')
const { createInbox } = require('hookonce')
const { postgresStore } = require('hookonce/postgres')
const { stripe } = require('hookonce/providers')
const { sign } = require('hookonce/testing')
const { typeormTx } = require('hookonce/typeorm')

const secret = 'whsec_test_secret_of_some_length'
const url = process.env.DATABASE_URL
const Paid = new EntitySchema({ name: 'paid', columns: { id: { type: 'text', primary: true } } })

async function main() {
  const dataSource = new DataSource({ type: 'postgres', url, entities: [Paid], synchronize: true })
  await dataSource.initialize()
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const inbox = createInbox({
    store: postgresStore({ pool, tx: typeormTx(dataSource) }),
    sources: { stripe: stripe({ secrets: [secret] }) },
  })
  let isManager = false
  inbox.on('stripe', 'invoice.paid', async ({ key }, { tx }) => {
    isManager = tx instanceof EntityManager
    await tx.insert(Paid, { id: key })
  })
  await inbox.start()
  const done = new Promise((resolve) => inbox.events.on('event.done', resolve))
  const delivery = sign('stripe', { key: 'evt_1', type: 'invoice.paid' }, { secret })
  const first = await inbox.receive('stripe', delivery)
  await done
  const second = await inbox.receive('stripe', delivery)
  const rows = JSON.stringify(await dataSource.manager.find(Paid))
  console.log(first.status, second.status, rows, isManager)
  await inbox.stop()
  await Promise.all([pool.end(), dataSource.destroy()])
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
`
