import { postgresStore } from 'hookonce/postgres'
import { prismaTx } from 'hookonce/prisma'
import { stripe } from 'hookonce/providers'
import { testInbox } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../test/support/postgres/open-postgres.ts'
import { databaseUrl, signed, SECRET } from '../../test/support/run-example.ts'
import { POST } from './app/webhooks/stripe/route.ts'
import { PrismaClient } from './generated/prisma/client.ts'
import { register } from './instrumentation.ts'
import { addHandlers } from './lib/handlers.ts'
import { stopInbox } from './lib/inbox.ts'

/** What a migration of Prisma's would make. */
const CREATE_PAYMENTS =
  'create table payments (id serial primary key, invoice text not null, cents integer not null)'

/** The handlers of the service on a database of their own. */
async function makeInbox() {
  const pool = newPool({ ...(await createPostgresDatabase()), max: 10 })
  return testInbox({
    sources: { stripe },
    store: () => postgresStore({ pool, tx: prismaTx(PrismaClient) }),
    execute: (sql, values = []) => pool.query(sql, [...values]),
    setup: CREATE_PAYMENTS,
    handlers: addHandlers,
  })
}

describe.skipIf(hasNoPostgres)('Next.js and Prisma', () => {
  test('the route takes ten deliveries at once, and the invoice is booked once', async () => {
    const database = await createPostgresDatabase()
    const pool = newPool(database)
    await pool.query(CREATE_PAYMENTS)
    vi.stubEnv('DATABASE_URL', databaseUrl(database))
    vi.stubEnv('STRIPE_WEBHOOK_SECRET', SECRET)
    vi.stubEnv('NEXT_RUNTIME', 'nodejs')
    onTestFinished(() => void vi.unstubAllEnvs())
    onTestFinished(stopInbox)
    const delivery = signed({ key: 'evt_1', type: 'invoice.paid' })
    const receive = async () => {
      const response = await POST(new Request('https://shop.example.com/webhooks/stripe', delivery))
      const { status } = (await response.json()) as { status: string }
      return `${response.status} ${status}`
    }

    await register()
    const answers = await Promise.all(Array.from({ length: 10 }, receive))

    expect(answers.toSorted()).toEqual(['200 accepted', ...Array(9).fill('200 duplicate')])
    const payments = async () => (await pool.query('select invoice, cents from payments')).rows
    const paid = { invoice: 'in_1Example00000000000000001', cents: 4200 }
    await expect.poll(payments).toEqual([paid])
    await stopInbox()
    expect(await payments()).toEqual([paid])
  })

  test('what Prisma wrote is undone with a process that dies before COMMIT, and written once', async () => {
    await using t = await makeInbox()
    t.crashAt('before-commit')

    const paid = await t.deliver('stripe', 'invoice.paid', { times: 2 })
    await t.drain()

    expect(t.crashes()).toHaveLength(1)
    await expect(paid).toBeDone()
    await expect(t).toHaveTakenEffectOnce('select * from payments')
  })
})
