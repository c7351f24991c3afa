import { describe, expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'

const KEYS = Array.from({ length: 60 }, (_, nth) => `evt_${nth}`)
const WRITE_TRANSACTION = 'insert into effects values ($1, pg_current_xact_id()::text)'

/** As beside a database in another country, or in a process whose machine has too much to do. */
describe('PostgreSQL, of whose answers each takes longer than a group has time for its handlers', () => {
  test.each([
    ['waits for what it writes', false],
    ['does not wait for what it writes', true],
  ])('events share a transaction all the same, with a handler that %s', async (_, writes) => {
    const database = await createFaultDatabase('postgres')
    const receiver = createFaultInbox(database)
    await Promise.all(KEYS.map((key) => accept(receiver, fromPartner({ key }))))
    const { inbox } = createFaultInbox(database, {
      worker: { concurrency: 1, groupBudgetMs: 20 },
      probe: ({ phase }) =>
        phase === 'after' ? new Promise((resolve) => setTimeout(resolve, 25)) : undefined,
    })
    inbox.on('partner', '*', async ({ key }, { tx }) => {
      if (writes) tx.write(WRITE_TRANSACTION, [key])
      else await tx.query(WRITE_TRANSACTION, [key])
    })

    await inbox.start()
    await until('all are at rest', async () => (await database.count('queue')) === 0)

    expect(await database.listWrongEffects(KEYS)).toEqual([])
    const [counted] = await database.query('select count(distinct note)::int as found from effects')
    // Each alone has a transaction of its own.
    expect(counted?.['found']).toBeLessThan(KEYS.length * 0.9)
  })
})
