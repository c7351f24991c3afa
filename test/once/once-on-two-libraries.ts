/** A connection of libsql's to the file of a store, once on each driver. Run on a Node that has `node:sqlite`. */

import Database from 'libsql'
import { createInbox, fromSqlite, HookonceError } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const file = process.argv[2] ?? ''

for (const driver of ['node:sqlite', 'libsql'] as const) {
  const inbox = createInbox({ store: sqliteStore(file, { driver }), worker: false, sources: {} })
  await inbox.start()
  const own = new Database(file)
  own.exec('begin immediate')
  const outcome = await inbox
    .once(fromSqlite(own), { source: 'jobs', key: 'k' }, () => undefined)
    .then(
      ({ status }) => status,
      (error: unknown) => (error instanceof HookonceError ? error.code : String(error)),
    )
  console.log(`${driver}: ${outcome}`)
  own.exec('rollback')
  await inbox.stop()
  own.close()
}
