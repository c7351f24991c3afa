import { createInbox } from 'hookonce'
import { postgresStore } from 'hookonce/postgres'
import { prismaTx } from 'hookonce/prisma'
import { stripe } from 'hookonce/providers'
import pg from 'pg'
import { PrismaClient } from '../generated/prisma/client.ts'
import { addHandlers } from './handlers.ts'

function makeInbox() {
  const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
  const inbox = createInbox({
    store: postgresStore({ pool, tx: prismaTx(PrismaClient) }),
    sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },
    worker: { concurrency: 4 },
  })
  addHandlers(inbox)
  return { inbox, pool }
}

// One for the whole process: Next.js may load this module more than once.
const kept = globalThis as { hookonceExample?: ReturnType<typeof makeInbox> }

/** Made when it is first asked for: `next build` loads this module where there is no secret. */
export function getInbox() {
  kept.hookonceExample ??= makeInbox()
  return kept.hookonceExample.inbox
}

export async function stopInbox(): Promise<void> {
  const { hookonceExample } = kept
  delete kept.hookonceExample
  await hookonceExample?.inbox.stop()
  await hookonceExample?.pool.end()
}
