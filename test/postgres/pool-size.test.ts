import { expect, inject, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox.ts'
import { stripe } from '../../src/providers/stripe.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { createDatabaseOn, dropDatabaseOn } from '../support/postgres/start-postgres.ts'
import pg from 'pg'

const shared = inject('postgres')

test.skipIf(shared === null)(
  'a pool that the running groups could empty is refused at boot, with the size it needs',
  async () => {
    if (shared === null) return
    const config = await createDatabaseOn(shared)
    const pool = new pg.Pool({ ...config, max: 5 })
    onTestFinished(async () => {
      await pool.end()
      await dropDatabaseOn(shared, config.database)
    })
    const inbox = createInbox({
      store: postgresStore({ pool }),
      sources: { stripe: stripe({ secrets: ['whsec_test_secret_of_some_length'] }) },
      worker: { concurrency: 4 },
    })
    onTestFinished(() => inbox.stop())

    await expect(inbox.start()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      option: 'postgresStore.pool',
      message: expect.stringContaining('at least 8 connections') as string,
    })
  },
)
