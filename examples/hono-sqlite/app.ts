/** A service with Hono and a SQLite file, which books the invoices that Stripe says are paid. */

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createInbox } from 'hookonce'
import { honoHandler } from 'hookonce/hono'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import Database from 'libsql'
import { addHandlers, CREATE_PAYMENTS } from './handlers.ts'

const file = process.env['DATABASE_FILE'] ?? 'hono-sqlite.db'
// The connection of the service, for its own tables. The inbox has connections of its own to the same file, and opens
// them with the same SQLite: two copies of it in one process take each other's locks away.
const database = new Database(file)
database.exec(CREATE_PAYMENTS)

const inbox = createInbox({
  store: sqliteStore(file, { driver: 'libsql' }),
  sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },
})
addHandlers(inbox)
await inbox.start()

const app = new Hono()
app.post('/webhooks/stripe', honoHandler(inbox, 'stripe'))
app.get('/payments', (context) => {
  const rows = database.prepare('select invoice, cents from payments').all()
  return context.json(rows as { invoice: string; cents: number }[])
})

const port = Number(process.env['PORT'] ?? 3000)
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port }, (address) => {
  console.log(`Listening on http://127.0.0.1:${address.port}`)
})

// What is being answered and what runs is finished; what is stored and waits is there after the next start.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void inbox.stop().then(() => database.close()))
  })
}
