import { describe, onTestFinished, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/faults/wire-proxy.ts'

describe('an inbox that is told to stop while PostgreSQL has gone silent', () => {
  test('stops all the same, and the pool gets back what was taken from it', async () => {
    const { inbox, pool, proxy, count, untilHappened } = await startBehindProxy()
    await accept({ inbox }, fromPartner({ key: 'evt_1' }))
    await untilHappened('event.done', 'evt_1')

    proxy.silence()
    await until('it is noticed', () => count('store.unavailable') > 0)
    let hasStopped = false
    void inbox.stop().then(() => (hasStopped = true))

    // One time-out of a statement, and not one after the other of everything that would say goodbye.
    await until('it has stopped', () => hasStopped, { limitMs: 40_000 })
    await proxy.close()
    await until('the pool has it all', () => pool?.idleCount === pool?.totalCount)
  }, 90_000)
})

async function startBehindProxy() {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  const worker = createFaultInbox(database, { connection: proxy.config, worker: {} })
  worker.inbox.on('partner', '*', () => undefined)
  await worker.inbox.start()
  return { ...worker, proxy }
}
