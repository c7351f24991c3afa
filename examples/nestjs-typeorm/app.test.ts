import { postgresStore } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import { testInbox } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { typeormTx } from 'hookonce/typeorm'
import { DataSource } from 'typeorm'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../test/support/postgres/open-postgres.ts'
import { databaseUrl, deliverTo, startExample } from '../../test/support/run-example.ts'
import { addHandlers } from './handlers.ts'
import { Payment } from './payment.ts'

/** The handlers of the service on a database of their own. */
async function makeInbox() {
  const database = await createPostgresDatabase()
  const pool = newPool({ ...database, max: 10 })
  const dataSource = await new DataSource({
    type: 'postgres',
    url: databaseUrl(database),
    entities: [Payment],
    synchronize: true,
  }).initialize()
  onTestFinished(() => dataSource.destroy())
  return testInbox({
    sources: { stripe },
    store: () => postgresStore({ pool, tx: typeormTx(dataSource) }),
    execute: (sql, values = []) => pool.query(sql, [...values]),
    handlers: addHandlers,
  })
}

describe.skipIf(hasNoPostgres)('NestJS and TypeORM', () => {
  test('the service books an invoice once that is delivered ten times at once', async () => {
    const database = await createPostgresDatabase()
    const { url, stop } = await startExample('nestjs-typeorm/app.ts', {
      env: { DATABASE_URL: databaseUrl(database) },
      tsconfig: 'test/orms/nestjs-example.tsconfig.json',
    })

    const answers = await deliverTo(`${url}/webhooks/stripe`, { key: 'evt_1' })

    expect(answers.toSorted()).toEqual(['200 accepted', ...Array(9).fill('200 duplicate')])
    const payments = async () => (await fetch(`${url}/payments`)).json() as Promise<unknown>
    const paid = { invoice: 'in_1Example00000000000000001', cents: 4200 }
    await expect.poll(payments).toEqual([paid])
    expect(await stop()).toBe(0)
    const { rows } = await newPool(database).query('select invoice, cents from payments')
    expect(rows).toEqual([paid])
  })

  test('what TypeORM wrote is undone with a process that dies before COMMIT, and written once', async () => {
    await using t = await makeInbox()
    t.crashAt('before-commit')

    const paid = await t.deliver('stripe', 'invoice.paid', { times: 2 })
    await t.drain()

    expect(t.crashes()).toHaveLength(1)
    await expect(paid).toBeDone()
    await expect(t).toHaveTakenEffectOnce('select * from payments')
  })
})
