/**
 * The quick start: a service on an embedded SQLite file that gets one signed event ten times at once,
 * and runs its handler once. `npm start` builds the package and runs this file.
 *
 * @module
 */

import { mkdirSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { createInbox } from 'hookonce'
import { createReceiver } from 'hookonce/node'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { deliver, EXAMPLE_SECRET } from './deliver.ts'

mkdirSync('.hookonce', { recursive: true })

const inbox = createInbox({
  store: sqliteStore('.hookonce/quick-start.db'),
  sources: {
    stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? EXAMPLE_SECRET] }),
  },
})

// Your handler. What it writes through `tx` and the fact that the event is done commit together.
inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
  await tx.query('create table if not exists payments (event text, amount integer)')
  await tx.query('insert into payments (event, amount) values ($1, $2)', [
    event.key,
    event.payload.data.object['amount_paid'],
  ])
})

const runs = new Map<string, number>()
inbox.events.on('event.done', ({ key }) => runs.set(key, (runs.get(key) ?? 0) + 1))

await inbox.start()
const receiver = createReceiver(inbox)
const { port } = await receiver.listen({ port: await choosePort() })

// The same event ten times at once, as senders do when an answer is slow to reach them.
const key = `evt_${randomUUID()}`
const done = new Promise<void>((resolve) => {
  inbox.events.on('event.done', (event) => {
    if (event.key === key) resolve()
  })
})
const answers = await deliver({ port, key, type: 'invoice.paid', times: 10 })
await done

const events = new Set(answers.map(({ event }) => event)).size
console.log(`${answers.length} deliveries, ${events} event, handler ran ${runs.get(key) ?? 0} time`)
console.log(`
Listening on http://127.0.0.1:${port}/in/stripe, keeping events in .hookonce/quick-start.db.
Send another event, three times at once, from a second terminal:

    npm run send -- --port ${port} --times 3

Stop with Ctrl-C.`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void receiver
      .drain()
      .then(() => inbox.stop())
      .then(() => process.exit(0))
  })
}

/** PORT, else 4400, else whatever is free: a second quick start must not fail on the first. */
async function choosePort(): Promise<number> {
  const { createServer } = await import('node:net')
  if (process.env['PORT'] !== undefined) return Number(process.env['PORT'])
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(0))
    probe.listen(4400, '127.0.0.1', () => probe.close(() => resolve(4400)))
  })
}
