import pg from 'pg'
import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'
import { createInbox, httpDestination } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { STRIPE_SECRET } from '../load/signed-requests.ts'
import { messageOf, RELAY_SECRET } from './relay-config.ts'
import type { RelayConfig } from './relay-config.ts'
import { hear, runSubject, say } from './subject.ts'

type HookonceConfig = RelayConfig & { readonly postgres: ConnectionConfig }

const CHUNK = 1_000

/** Ours: messages in PostgreSQL, each durably claimed before it is sent and settled after. */
runSubject<HookonceConfig>(async ({ postgres, messages, url, concurrency }) => {
  const pool = new pg.Pool({ ...postgres, max: 10 })
  const store = postgresStore({ pool })
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [STRIPE_SECRET] }) },
    worker: false,
    destinations: [
      httpDestination('sink', { url, allow: ['127.0.0.1'], secrets: [RELAY_SECRET], concurrency }),
    ],
  })
  await inbox.admin.countEvents()
  for (let from = 0; from < messages; from += CHUNK) await write(from)
  say({ kind: 'filled' })
  await hear('go')

  const counts = { failed: 0, errors: 0 }
  inbox.events.on('message.failed', () => (counts.failed += 1))
  inbox.events.on('relay.error', () => (counts.errors += 1))
  let left = messages
  const sent = new Promise<void>((resolve) => {
    inbox.events.on('message.sent', () => {
      left -= 1
      if (left === 0) resolve()
    })
  })
  const startedAt = performance.now()
  await inbox.start()
  await sent
  const seconds = (performance.now() - startedAt) / 1_000
  say({ kind: 'finished', seconds, notes: counts })
  await inbox.stop()
  await pool.end()

  async function write(from: number): Promise<void> {
    const count = Math.min(CHUNK, messages - from)
    const client = await pool.connect()
    await client.query('begin')
    await store.messages.enqueue(
      client,
      Array.from({ length: count }, (_, index) => {
        const { key, payload } = messageOf(from + index)
        return {
          destination: 'sink',
          key,
          body: Buffer.from(JSON.stringify(payload)),
          contentType: 'application/json',
          headers: {},
          delayMs: 0,
          eventId: undefined,
        }
      }),
    )
    await client.query('commit')
    client.release()
  }
})
