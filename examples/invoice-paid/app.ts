/** The shop as a service: a SQLite file, a receiver of Node's own, and one destination for messages. */

import { createInbox } from 'hookonce'
import { createReceiver } from 'hookonce/node'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import Database from 'libsql'
import { mail } from './mail.ts'
import { addHandlers, CREATE_TABLES } from './shop.ts'

const file = process.env['DATABASE_FILE'] ?? 'invoice-paid.db'
// The SQLite that the inbox has as well: two copies of it in one process take each other's locks away.
const database = new Database(file)
database.exec(CREATE_TABLES)
database.close()

const inbox = createInbox({
  store: sqliteStore(file, { driver: 'libsql' }),
  sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },
  destinations: [mail],
})
addHandlers(inbox)
await inbox.start()

const receiver = createReceiver(inbox)
const { port } = await receiver.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log(`Listening on http://127.0.0.1:${port}`)

// What is being answered and what runs is finished; what is stored and waits is there after the next start.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void receiver.drain().then(() => inbox.stop()))
}
