/**
 * A process of the user's: one call of `inbox.once` in a transaction of its own, which dies where it is told to.
 *
 * @module
 */

import Database from 'libsql'
import pg from 'pg'
import { createInbox } from '../../../src/inbox/inbox.ts'
import { destination } from '../../../src/outbox/destination.ts'
import { fromPg } from '../../../src/own-tx/from-pg.ts'
import { fromSqlite } from '../../../src/own-tx/from-sqlite.ts'
import type { OwnTx } from '../../../src/store/contract/transaction.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import type { StoreConfig } from './subject-messages.ts'

export type DeathPoint = 'in the work' | 'before COMMIT' | 'after COMMIT' | 'never'

interface Own {
  readonly store: Store<unknown>
  readonly tx: OwnTx
  run(sql: string): unknown
}

async function connect(config: StoreConfig): Promise<Own> {
  if (config.engine === 'sqlite') {
    const db = new Database(config.file)
    const store = sqliteStore(config.file, { driver: 'libsql' })
    return { store: store, tx: fromSqlite(db), run: (sql) => db.exec(sql) }
  }
  const client = new pg.Client(config.connection)
  await client.connect()
  const store = postgresStore({ pool: new pg.Pool({ ...config.connection, max: 3 }) })
  return { store: store, tx: fromPg(client), run: (sql) => client.query(sql) }
}

async function main(config: StoreConfig, dies: DeathPoint): Promise<void> {
  const reach = (point: DeathPoint): void => {
    if (point === dies) process.kill(process.pid, 'SIGKILL')
  }
  const { store, tx, run } = await connect(config)
  const inbox = createInbox({
    store,
    sources: {},
    worker: false,
    relay: false,
    destinations: [destination('mail', () => undefined)],
  })
  await inbox.start()
  await run(config.engine === 'sqlite' ? 'begin immediate' : 'begin')
  const { status } = await inbox.once(tx, { source: 'jobs', key: 'job-1' }, async ({ send }) => {
    await tx.query("insert into effects (event_key) values ('job-1')")
    await send('mail', { about: 'job-1' })
    reach('in the work')
  })
  reach('before COMMIT')
  await run('commit')
  reach('after COMMIT')
  process.send?.({ status }, () => process.exit(0))
}

process.once('message', ({ config, dies }: { config: StoreConfig; dies: DeathPoint }) => {
  main(config, dies).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
