import { postgresStore } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import { testInbox } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { describe, expect, test } from 'vitest'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../test/support/postgres/open-postgres.ts'
import { databaseUrl, deliverTo, startExample } from '../../test/support/run-example.ts'
import { addHandlers, CREATE_PAYMENTS } from './handlers.ts'

/** The handlers of the service on a database of their own. */
async function makeInbox() {
  const pool = newPool({ ...(await createPostgresDatabase()), max: 10 })
  return testInbox({
    sources: { stripe },
    store: () => postgresStore({ pool }),
    execute: (sql, values = []) => pool.query(sql, [...values]),
    setup: CREATE_PAYMENTS,
    handlers: addHandlers,
  })
}

describe.skipIf(hasNoPostgres)('Express and pg', () => {
  test('the service books an invoice once that is delivered ten times at once', async () => {
    const database = await createPostgresDatabase()
    const { url, stop } = await startExample('express-pg/app.ts', {
      env: { DATABASE_URL: databaseUrl(database) },
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

  // All points, by `crashAt.each`, are tried in ../hono-sqlite: a database for each takes PostgreSQL longer.
  test.each(['after-handler', 'after-commit'] as const)(
    'an invoice is booked once when the process dies at %s',
    async (point) => {
      await using t = await makeInbox()
      t.crashAt(point)

      const paid = await t.deliver('stripe', 'invoice.paid', { times: 2 })
      await t.drain()

      expect(t.crashes()).toHaveLength(1)
      await expect(paid).toBeDone()
      await expect(t).toHaveTakenEffectOnce('select * from payments')
    },
  )
})
