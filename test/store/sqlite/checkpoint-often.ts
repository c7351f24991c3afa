/** Run as a process of its own: writes, and has SQLite write to the database file after every few pages, until it is killed. */

import { openDriver } from '../../../src/store/sqlite/open-driver.ts'

const [file = '', driver] = process.argv.slice(2)
const handle = (await openDriver(driver as 'libsql' | 'node:sqlite')).open(file)
handle.execute('pragma busy_timeout = 60000')
handle.execute('pragma wal_autocheckpoint = 5')
handle.execute('create table if not exists other (text)')
const insert = handle.prepare('insert into other values (?)')
const truncate = handle.prepare('pragma wal_checkpoint(truncate)')
for (let n = 1; ; n += 1) {
  insert.run(['x'.repeat(5_000)])
  if (n % 10 === 0) truncate.all([])
  if (n === 20) process.send?.('writes')
  // SQLite has no queue for its writer: without a pause another process could wait for it for as long as this one lives.
  await new Promise((resolve) => setTimeout(resolve, 2))
}
