/** A process that writes by one of these libraries until it is killed (`killContract`). */

import { pgTable, text } from 'drizzle-orm/pg-core'
import { sqliteTable, text as sqliteText } from 'drizzle-orm/sqlite-core'
import { drizzleTx as drizzleSqliteTx } from '../../src/bindings/drizzle-sqlite.ts'
import { drizzleTx } from '../../src/bindings/drizzle.ts'
import { knexTx } from '../../src/bindings/knex.ts'
import { kyselyTx } from '../../src/bindings/kysely.ts'
import { readKilledOptions, runUntilKilled } from './run-until-killed.ts'

const effects = pgTable('effects', { eventKey: text('event_key'), note: text() })
const effectsOnSqlite = sqliteTable('effects', {
  eventKey: sqliteText('event_key'),
  note: sqliteText(),
})

const options = readKilledOptions()
switch (options.library) {
  case 'drizzle':
    await runUntilKilled(options, {
      binding: drizzleTx(),
      insert: async (tx, eventKey, note) => tx.insert(effects).values({ eventKey, note }),
    })
    break
  case 'drizzle-sqlite':
    await runUntilKilled(options, {
      binding: drizzleSqliteTx(),
      insert: async (tx, eventKey, note) => tx.insert(effectsOnSqlite).values({ eventKey, note }),
    })
    break
  case 'kysely':
    await runUntilKilled(options, {
      binding: kyselyTx<{ effects: { event_key: string; note: string } }>(),
      insert: async (tx, key, note) =>
        tx.insertInto('effects').values({ event_key: key, note }).execute(),
    })
    break
  case 'knex':
    await runUntilKilled(options, {
      binding: knexTx(),
      insert: async (tx, key, note) => tx('effects').insert({ event_key: key, note }),
    })
    break
  default:
    throw new Error(`There is no library ${options.library} here`)
}
