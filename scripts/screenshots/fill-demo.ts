import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInbox, permanent, retryAfter, skip } from '../../src/index.ts'
import type { Delivery } from '../../src/index.ts'
import { github, stripe } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sign } from '../../src/testing/index.ts'

const STRIPE_SECRET = 'whsec_only_for_pictures_0123'
const GITHUB_SECRET = 'only-for-pictures-0123456789'

/** What a sender must not be able to do to a terminal: clear it, colour it, write over other lines, go on for ever. */
const HOSTILE = `\u001b[2J\u001b[31mpaid\u0007\u202e\r\nok${'x'.repeat(300)}`

/** A shop with a config, and events of most kinds. Says which are worth showing. */
export async function fillDemo(
  folder: string,
): Promise<{ readonly dead: string; readonly hostile: string }> {
  writeConfig(folder)
  await using inbox = createInbox({
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    store: sqliteStore(path.join(folder, 'hookonce.db')),
    sources: {
      stripe: stripe({ secrets: [STRIPE_SECRET] }),
      github: github({ secrets: [GITHUB_SECRET] }),
    },
  })
  inbox.on('stripe', 'invoice.paid', { name: 'book' }, () => undefined)
  inbox.on('stripe', 'charge.refunded', { name: 'refund' }, () => {
    throw permanent('there is no charge ch_3NqX for this refund')
  })
  inbox.on('stripe', 'invoice.payment_failed', { name: 'dunning' }, () => {
    // Long enough not to run again while it is shown.
    throw retryAfter(600_000, 'connect ECONNREFUSED 10.0.4.17:5432')
  })
  inbox.on('github', 'push', { name: 'deploy' }, () => skip('not on main'))
  await inbox.start()

  const receive = async (source: 'stripe' | 'github', delivery: Delivery): Promise<string> =>
    (await inbox.receive(source, delivery)).eventId ?? ''
  const created = Math.floor(Date.now() / 1_000)
  const ofStripe = (key: string, type: string, object: object = {}): Promise<string> => {
    const body = {
      id: key,
      type,
      created,
      livemode: true,
      data: { object },
    }
    return receive('stripe', sign('stripe', { key, type, body }, BY_STRIPE))
  }

  await ofStripe('evt_1Q2w', 'invoice.paid')
  await ofStripe('evt_1Q2x', 'invoice.paid')
  const dead = await ofStripe('evt_1Q3a', 'charge.refunded', { id: 'ch_3NqX', amount: 4200 })
  await ofStripe('evt_1Q2w', 'invoice.paid')
  await ofStripe('evt_1Q3b', 'invoice.payment_failed')
  await receive('github', sign('github', { key: 'push-7f3c', type: 'push' }, BY_GITHUB))
  await ofStripe('evt_1Q4a', 'customer.created')
  await ofStripe('evt_1Q2x', 'invoice.paid', { amount: 1 })
  const hostile = await ofStripe(HOSTILE, HOSTILE, { note: HOSTILE })
  await untilSettled(async () => (await inbox.admin.findEvent(dead))?.state === 'dead')
  await untilSettled(async () => {
    const { events } = await inbox.admin.list({ state: 'ready' })
    return events.every(({ type, attempts }) => type !== 'invoice.payment_failed' || attempts > 0)
  })
  return { dead, hostile }
}

const BY_STRIPE = { secret: STRIPE_SECRET }
const BY_GITHUB = { secret: GITHUB_SECRET }

function ignore(): void {
  // What went wrong is meant to be in the pictures.
}

function writeConfig(folder: string): void {
  writeFileSync(path.join(folder, 'stripe.secret'), STRIPE_SECRET)
  writeFileSync(path.join(folder, 'github.secret'), GITHUB_SECRET)
  const config = {
    store: 'sqlite:hookonce.db',
    sources: {
      stripe: { provider: 'stripe', secrets: ['file:stripe.secret'], forward: ['app'] },
      github: { provider: 'github', secrets: ['file:github.secret'], forward: ['app'] },
    },
    // Nothing listens there.
    destinations: {
      app: { url: 'http://127.0.0.1:1/webhooks', allowPrivate: true, unsigned: true },
    },
  }
  writeFileSync(path.join(folder, 'hookonce.config.json'), JSON.stringify(config))
}

async function untilSettled(is: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 30_000
  while (!(await is())) {
    if (performance.now() > endMs) throw new Error('The demo inbox did not come to rest')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
