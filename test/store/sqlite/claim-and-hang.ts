/** Run as a process of its own: claims, writes through the transaction, says so, and never ends. */

import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { aClaim } from '../../support/builders.ts'

const [file = '', driver] = process.argv.slice(2)
const store = sqliteStore(file, { driver: driver as 'libsql' | 'node:sqlite' })
await store.open()
const group = await store.queue.claim(aClaim({ slot: { workerId: 'worker-that-dies', slot: 0 } }))
await group?.lend().tx.query("insert into effects values ('evt_1', 'never committed')")
process.send?.({ events: group?.events.length })
setInterval(() => {}, 60_000)
