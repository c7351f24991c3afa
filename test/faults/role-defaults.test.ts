import { describe, expect, onTestFinished, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { addLedger } from '../support/faults/make-database.ts'
import { lendPostgres } from '../support/postgres/postgres-database.ts'
import { until } from '../support/faults/until.ts'
import { findBinaries } from '../support/postgres/find-binaries.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'

const WRITE = 'insert into effects values ($1, $2)'
const KEYS = Array.from({ length: 6 }, (_, i) => `evt_${i}`)

// With the first three, whatever is not in a transaction of ours is refused.
test.each([
  "default_transaction_isolation = 'repeatable read'",
  "default_transaction_isolation = 'serializable'",
  'default_transaction_read_only = on',
  'synchronous_commit = off',
])('R16: with %s as the default of its role an inbox does all of its work', async (setting) => {
  const database = await createFaultDatabase('postgres')
  const [found] = await database.query('select current_database() as name')
  await database.query(`alter database ${String(found?.['name'])} set ${setting}`)
  const calls: string[] = []
  const sent: string[] = []
  const worker = createFaultInbox(database, {
    worker: { concurrency: 2, deadAfterMs: 500 },
    destinations: [
      destination('sink', ({ key }) => {
        sent.push(key)
      }),
    ],
    relay: {},
  })
  worker.inbox.on('partner', 'plain', async ({ key }, { tx, send }) => {
    await tx.query(WRITE, [key, 'plain'])
    await send('sink', {})
  })
  worker.inbox.steps('partner', 'steps', async ({ key }, step) => {
    await step.tx('write', async (tx) => {
      await tx.query(WRITE, [key, 'steps'])
    })
    await step.call('charge', () => calls.push(key))
    await step.send('sink', {})
  })
  await worker.inbox.start()

  for (const [n, key] of KEYS.entries())
    await accept(worker, fromPartner({ key, type: n % 2 === 0 ? 'plain' : 'steps' }))
  await accept(worker, fromPartner({ key: KEYS[0]!, type: 'plain' }))
  await until('all is done', () => worker.count('event.done') === 6 && sent.length === 6)

  expect(await database.listWrongEffects(KEYS)).toEqual([])
  expect(calls.sort()).toEqual(KEYS.filter((_, n) => n % 2 === 1))
  expect(new Set(sent).size).toBe(6)
  expect(worker.happened.filter(({ name }) => name.endsWith('.error'))).toEqual([])
})

const TIMEOUT = 'transaction_timeout'

// PostgreSQL 17 has it and earlier ones do not.
describe.each(['embedded', 'debian15'] as const)('on a server of its own (%s)', (version) => {
  test.skipIf(findBinaries(version) === undefined)(
    'R16: a handler and a step may take longer than the transaction_timeout of its role',
    async () => {
      const server = await startPostgres({ version })
      onTestFinished(() => server.dispose())
      const { database, drop } = await addLedger(await lendPostgres(server.config))
      onTestFinished(drop)
      const [found] = await database.query(
        'select current_database() as name, current_setting($1, true) as timeout',
        [TIMEOUT],
      )
      if (found?.['timeout'] !== null)
        await database.query(`alter database ${String(found?.['name'])} set ${TIMEOUT} = '1500ms'`)
      const worker = createFaultInbox(database, { worker: { concurrency: 2 } })
      worker.inbox.on('partner', 'plain', async ({ key }, { tx }) => {
        await tx.query('select pg_sleep(2.5)')
        await tx.query(WRITE, [key, 'plain'])
      })
      worker.inbox.steps('partner', 'steps', async ({ key }, step) => {
        await step.tx('write', async (tx) => {
          await tx.query('select pg_sleep(2.5)')
          await tx.query(WRITE, [key, 'steps'])
        })
      })
      await worker.inbox.start()

      await accept(worker, fromPartner({ key: 'evt_0', type: 'plain' }))
      await accept(worker, fromPartner({ key: 'evt_1', type: 'steps' }))
      const ends = ['event.done', 'event.failed'] as const
      const count = () => ends.reduce((sum, name) => sum + worker.count(name), 0)
      await until('both have ended', () => count() === 2)

      expect(worker.count('event.done')).toBe(2)
      expect(await database.listWrongEffects(['evt_0', 'evt_1'])).toEqual([])
      expect((await worker.getEvent('evt_0')).failures).toEqual([])
      expect((await worker.getEvent('evt_1')).failures).toEqual([])
    },
  )
})
