/** A service with Express and `pg`, which books the invoices that Stripe says are paid. */

import type { AddressInfo } from 'node:net'
import express from 'express'
import { createInbox } from 'hookonce'
import { expressHandler } from 'hookonce/express'
import { postgresStore } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import pg from 'pg'
import { addHandlers, CREATE_PAYMENTS } from './handlers.ts'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
await pool.query(CREATE_PAYMENTS)

const inbox = createInbox({
  store: postgresStore({ pool }),
  sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },
  worker: { concurrency: 4 },
})
addHandlers(inbox)
await inbox.start()

const app = express()
// Above the parser: a signature is over the bytes that came.
app.post('/webhooks/stripe', expressHandler(inbox, 'stripe'))
app.use(express.json())
app.get('/payments', async (_request, response) => {
  const { rows } = await pool.query('select invoice, cents from payments order by paid_at')
  response.json(rows)
})

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`Listening on http://127.0.0.1:${port}`)
})

// What is being answered and what runs is finished; what is stored and waits is there after the next start.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void inbox.stop().then(() => pool.end()))
  })
}
