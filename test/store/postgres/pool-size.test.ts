import { expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../../src/inbox/inbox.ts'
import type { InboxOptions } from '../../../src/inbox/options.ts'
import { destination } from '../../../src/outbox/destination.ts'
import { stripe } from '../../../src/providers/vendors/stripe.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { sign } from '../../../src/testing/index.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../support/postgres/open-postgres.ts'

const secret = 'whsec_test_secret_of_some_length'
const sources = { stripe: stripe({ secrets: [secret] }) }

type Setup = Omit<InboxOptions<typeof sources, unknown>, 'store' | 'sources'>

/** An inbox on a pool of that many connections, and its store. */
async function open(max: number, setup: Setup) {
  const pool = newPool({ ...(await createPostgresDatabase()), max })
  const store: PostgresStore = postgresStore({ pool })
  const inbox = createInbox({ store, sources, ...setup })
  onTestFinished(() => inbox.stop())
  return { inbox, store }
}

test.skipIf(hasNoPostgres)(
  'a pool that the running groups could empty is refused at boot, with the size it needs',
  async () => {
    const { inbox } = await open(5, { worker: { concurrency: 4 } })

    await expect(inbox.start()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      option: 'postgresStore.pool',
      message: expect.stringContaining('at least 9 connections for 5 groups at once') as string,
    })
  },
)

test.skipIf(hasNoPostgres)(
  'a pool that a relay could empty is refused at boot as well',
  async () => {
    const destinations = [destination('mail', async () => undefined)]
    const { inbox } = await open(2, { worker: false, destinations })

    await expect(inbox.start()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('at least 3 connections to send messages') as string,
    })
  },
)

test.skipIf(hasNoPostgres)(
  'a process that only receives works with a pool of one, and keeps nothing of it',
  async () => {
    const { inbox, store } = await open(1, {
      worker: false,
      receive: { rememberMax: 0, answerTimeoutMs: 15_000 },
    })
    await inbox.start()

    const statuses: number[] = []
    for (const key of ['evt_1', 'evt_2', 'evt_1', 'evt_3']) {
      const delivery = sign('stripe', { type: 'invoice.paid', key }, { secret })
      statuses.push((await inbox.receive('stripe', delivery)).status)
      // What tells other processes' workers of it would come a moment later by itself.
      await store.queue.notify()
    }

    expect(statuses).toEqual([200, 200, 200, 200])
  },
)
