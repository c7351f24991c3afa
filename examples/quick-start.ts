/**
 * The quick start: a service on an embedded SQLite file that gets one signed event ten times at once,
 * and runs its handler once. `npm start` builds the package and runs this file.
 *
 * @module
 */

import { mkdirSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { createInbox } from 'hookonce'
import { createReceiver } from 'hookonce/node'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { counted, deliver, EXAMPLE_SECRET } from './deliver.ts'

mkdirSync('.hookonce', { recursive: true })

const inbox = createInbox({
  store: sqliteStore('.hookonce/quick-start.db'),
  sources: {
    stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? EXAMPLE_SECRET] }),
  },
})

/** How often the handler ran, by event. */
const runs = new Map<string, number>()

// Your handler. What it writes through `tx` and the fact that the event is done commit together.
inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
  runs.set(event.id, (runs.get(event.id) ?? 0) + 1)
  await tx.query('create table if not exists payments (event text, amount integer)')
  await tx.query('insert into payments (event, amount) values ($1, $2)', [
    event.key,
    event.payload.data.object['amount_paid'],
  ])
})

await inbox.start()
const receiver = createReceiver(inbox)
const { port } = await receiver.listen({ port: await choosePort() })

// The same event ten times at once, as senders do when an answer is slow to reach them.
const key = `evt_${randomUUID()}`
const done = new Promise<string>((resolve) => {
  inbox.events.on('event.done', (event) => {
    if (event.key === key) resolve(event.eventId)
  })
})
const answers = await deliver({ port, key, type: 'invoice.paid', times: 10 })
console.log(`\n${counted(answers)}, ${handlerRuns(await done)}`)
console.log(`
Listening on http://127.0.0.1:${port}/in/stripe, keeping events in .hookonce/quick-start.db.
Send another event, three times at once, from a second terminal:

    npm run send -- --port ${port} --times 3

Stop with Ctrl-C.
`)

// What arrives from now on, as it happens.
inbox.events.on('delivery.accepted', ({ eventId }) => console.log(`accepted   ${eventId}`))
inbox.events.on('delivery.duplicate', ({ eventId }) => console.log(`duplicate  ${eventId}`))
inbox.events.on('event.done', ({ eventId }) =>
  console.log(`done       ${eventId}  ${handlerRuns(eventId)}`),
)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void receiver
      .drain()
      .then(() => inbox.stop())
      .then(() => process.exit(0))
  })
}

function handlerRuns(eventId: string): string {
  const count = runs.get(eventId) ?? 0
  return `handler ran ${count} ${count === 1 ? 'time' : 'times'}`
}

/** PORT, else 4400, else whatever is free: a second quick start must not fail on the first. */
async function choosePort(): Promise<number> {
  if (process.env['PORT'] !== undefined) return Number(process.env['PORT'])
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(0))
    probe.listen(4400, '127.0.0.1', () => probe.close(() => resolve(4400)))
  })
}
