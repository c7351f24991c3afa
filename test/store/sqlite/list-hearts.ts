/** Run as a process of its own: prints the hearts of all workers. */

import { sqliteStore } from '../../../src/store/sqlite/index.ts'

const [file = '', driver] = process.argv.slice(2)
const store = sqliteStore(file, { driver: driver as 'libsql' | 'node:sqlite' })
await store.open()
process.stdout.write(`${JSON.stringify(await store.workers.listHearts())}\n`)
process.exit(0)
