import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInboxOptions } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { until } from '../support/faults/until.ts'
import { aSignal } from '../support/a-signal.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import { destination } from '../../src/outbox/destination.ts'

/**
 * Without grace periods the bound is about ten seconds. One part after the other, each with its own time-outs, took
 * 27 to 88. The limit is twice the bound, by the time that this process has, which is little on a busy machine.
 */
const WITHOUT_GRACE = { worker: { stopGraceMs: 0 }, relay: { stopGraceMs: 0 } }
const LIMIT = { limitMs: 20_000 }

describe('an inbox that is told to stop while PostgreSQL has gone silent', () => {
  test('stops all the same, and the pool gets back what was taken from it', async () => {
    const { inbox, pool, proxy, count, untilHappened } = await startBehindProxy({ worker: {} })
    inbox.on('partner', '*', () => undefined)
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
  }, 300_000)

  test('has one bound for handlers, steps, messages and deliveries together', async () => {
    const answered = aSignal()
    const slow = destination('slow', () => answered.given)
    const { inbox, proxy, untilHappened } = await startBehindProxy({
      ...WITHOUT_GRACE,
      destinations: [slow],
    })
    const busy: string[] = []
    inbox.on('partner', 'query.*', async (event, { tx }) => {
      busy.push(event.key)
      await answered.given
      await tx.query('select 1')
    })
    inbox.steps('partner', 'steps.*', async (event, step) => {
      busy.push(event.key)
      await step.call('wait', () => answered.given)
    })
    inbox.on('partner', 'send.*', (event, { send }) => send('slow', {}, { key: event.key }))
    await accept({ inbox }, fromPartner({ key: 'evt_1', type: 'send.it' }))
    await untilHappened('event.done', 'evt_1')
    await accept({ inbox }, fromPartner({ key: 'evt_2', type: 'query.it' }))
    await accept({ inbox }, fromPartner({ key: 'evt_3', type: 'steps.it' }))
    await until('both run', () => busy.length === 2)

    proxy.silence()
    const delivery = inbox.receive('partner', fromPartner({ key: 'evt_4' }))
    answered.give()
    let hasStopped = false
    void inbox.stop().then(() => (hasStopped = true))

    await until('it has stopped', () => hasStopped, LIMIT)
    expect((await delivery).status).toBe(503)
    await proxy.close()
  }, 300_000)
})

async function startBehindProxy(options: FaultInboxOptions) {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  const worker = createFaultInbox(database, { connection: proxy.config, ...options })
  await worker.inbox.start()
  return { ...worker, proxy }
}
