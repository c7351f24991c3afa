import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { WRITE_EFFECT } from '../support/faults/scripted-handler.ts'
import { until } from '../support/faults/until.ts'

const UPGRADES = 8

describe('a release that starts beside an earlier one on PostgreSQL', () => {
  test(
    'H19: makes its functions under load, and nothing is lost or doubled',
    { timeout: 180_000 },
    async () => {
      const database = await createFaultDatabase('postgres')
      const receiver = createFaultInbox(database)
      const worker = createFaultInbox(database, { worker: { concurrency: 4, groupMax: 5 } })
      worker.inbox.on('partner', '*', { retry: { firstMs: 1, factor: 1 } }, (event, { tx }) =>
        tx.query(WRITE_EFFECT, [event.key, 'ran']),
      )
      await Promise.all([receiver.inbox.start(), worker.inbox.start()])
      const acknowledged: string[] = []
      let isOver = false
      const sending = Promise.all(
        Array.from({ length: 4 }, async (_, sender) => {
          for (let nth = 0; !isOver; nth += 1) {
            const key = `evt_${sender}_${nth}`
            // A sender comes again until it is answered.
            for (let status = 0; status !== 200;)
              status = (await receiver.inbox.receive('partner', fromPartner({ key }))).status
            acknowledged.push(key)
          }
        }),
      )

      for (let nth = 0; nth < UPGRADES; nth += 1) {
        const before = acknowledged.length
        await until('deliveries come', () => acknowledged.length > before + 20, { everyMs: 1 })
        await makeEarlier(database)
        await openRelease(database)
      }
      isOver = true
      await sending
      await until('all have run', async () => (await database.count('queue')) === 0)

      expect(await database.count('events')).toBe(acknowledged.length)
      expect(await database.listWrongEffects(acknowledged)).toEqual([])
    },
  )
})

/** As an earlier release has left its functions. */
async function makeEarlier(database: FaultDatabase): Promise<void> {
  const rows = await database.query(`select pg_get_functiondef('hookonce.look'::regproc) as text`)
  await database.query(String(rows[0]?.['text']).replace('begin', '-- earlier\nbegin'))
  await database.query(`update hookonce.meta set value = '0 earlier' where name = 'functions'`)
}

async function openRelease({ store: config }: FaultDatabase): Promise<void> {
  if (config.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const pool = new pg.Pool(config.connection)
  const store = postgresStore({ pool })
  await store.open()
  expect(store.warnings).toEqual([])
  await store.close()
  await pool.end()
}
