import { createInbox } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { STRIPE_SECRET, signedDelivery } from '../load/signed-requests.ts'
import type { DrainConfig } from './drain-config.ts'
import { openStore } from './open-store.ts'

export const SOURCES = {
  stripe: stripe({ secrets: [STRIPE_SECRET], toleranceSeconds: 86_400 }),
}
const PARALLEL = 1_000

/** Stores the events of a run, through the door. */
export async function fillInbox(config: DrainConfig): Promise<void> {
  const { store, close } = openStore(config)
  const inbox = createInbox({
    store,
    sources: SOURCES,
    worker: false,
    receive: { batchMax: PARALLEL },
  })
  for (let from = 0; from < config.events; from += PARALLEL) {
    const count = Math.min(PARALLEL, config.events - from)
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        inbox.receive('stripe', {
          method: 'POST',
          url: '/in/stripe',
          receivedAt: new Date(),
          ...signedDelivery(from + index),
        }),
      ),
    )
    if (answers.some(({ status }) => status !== 200)) throw new Error('An event was not taken in')
  }
  await inbox.stop()
  await close()
}
