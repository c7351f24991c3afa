import { expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox.ts'
import { stripe } from '../../src/providers/stripe.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../support/postgres/open-postgres.ts'

test.skipIf(hasNoPostgres)(
  'a pool that the running groups could empty is refused at boot, with the size it needs',
  async () => {
    const pool = newPool({ ...(await createPostgresDatabase()), max: 5 })
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
