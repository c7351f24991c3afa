/** A service with Fastify and Drizzle, which books the invoices that Stripe says are paid. */

import { drizzle } from 'drizzle-orm/node-postgres'
import fastify from 'fastify'
import { createInbox } from 'hookonce'
import { drizzleTx } from 'hookonce/drizzle'
import { fastifyPlugin } from 'hookonce/fastify'
import { postgresStore } from 'hookonce/postgres'
import { stripe } from 'hookonce/providers'
import pg from 'pg'
import { addHandlers } from './handlers.ts'
import * as schema from './schema.ts'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
const db = drizzle(pool, { schema })
await db.execute(schema.CREATE_PAYMENTS)

const inbox = createInbox({
  // The `tx` of a handler is one of Drizzle's.
  store: postgresStore({ pool, tx: drizzleTx({ schema }) }),
  sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },
  worker: { concurrency: 4 },
})
addHandlers(inbox)
await inbox.start()

const app = fastify()
await app.register(fastifyPlugin(inbox, 'stripe'), { prefix: '/webhooks/stripe' })
app.get('/payments', () => db.query.payments.findMany({ columns: { invoice: true, cents: true } }))

const url = await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 3000) })
console.log(`Listening on ${url}`)

// What is being answered and what runs is finished; what is stored and waits is there after the next start.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void app
      .close()
      .then(() => inbox.stop())
      .then(() => pool.end())
  })
}
