import pg from 'pg'
import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'
import { createInbox, httpDestination } from '../../src/index.ts'
import { undiciClient } from '../../src/gateway/undici-client.ts'
import { stripe } from '../../src/providers/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { STRIPE_SECRET } from '../load/signed-requests.ts'
import type { MessageDraft } from '../../src/model/message.ts'
import { messageOf, RELAY_SECRET } from './relay-config.ts'
import type { RelayConfig } from './relay-config.ts'
import { hear, runSubject, say, startClock } from './subject.ts'

type HookonceConfig = RelayConfig & { readonly postgres: ConnectionConfig }

const CHUNK = 1_000

/** Ours: messages in PostgreSQL, each durably claimed before it is sent and settled after. */
runSubject<HookonceConfig>(async (config) => {
  const { postgres, messages, url, concurrency, undici } = config
  await fill(config)
  say({ kind: 'filled' })
  await hear('go')

  const pool = new pg.Pool({ ...postgres, max: 10 })
  const inbox = createInbox({
    store: postgresStore({ pool }),
    sources: { stripe: stripe({ secrets: [STRIPE_SECRET] }) },
    worker: false,
    destinations: [
      httpDestination('sink', {
        url,
        allow: ['127.0.0.1'],
        secrets: [RELAY_SECRET],
        concurrency,
        ...(undici === true && { client: undiciClient }),
      }),
    ],
  })
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
  const stopClock = startClock()
  await inbox.start()
  await sent
  say({ kind: 'finished', ...stopClock(), notes: counts })
  await inbox.stop()
  await pool.end()
})

/** On connections of its own: what PostgreSQL counts for one is told when it ends. */
async function fill({ postgres, messages }: HookonceConfig): Promise<void> {
  const pool = new pg.Pool({ ...postgres, max: 2 })
  const store = postgresStore({ pool })
  await store.open()
  const client = await pool.connect()
  for (let from = 0; from < messages; from += CHUNK) {
    await client.query('begin')
    await store.messages.enqueue(client, createMessages(from, Math.min(CHUNK, messages - from)))
    await client.query('commit')
  }
  client.release()
  await store.close()
  await pool.end()
}

function createMessages(from: number, count: number): MessageDraft[] {
  return Array.from({ length: count }, (_, index) => {
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
  })
}
