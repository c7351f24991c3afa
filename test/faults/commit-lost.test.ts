import { describe, expect, onTestFinished, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { ReceiveOptions } from '../../src/receive/options.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import type { Boundary } from '../support/faults/probed-client.ts'
import { until } from '../support/faults/until.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import type { ArmedRule } from '../support/postgres/wire-proxy.ts'

describe('a connection to PostgreSQL that is lost when an event is stored', () => {
  // The call that stores a batch commits by itself, except where content is watched.
  describe.each([
    ['partner', /record_new/i],
    ['watched', /^commit$/i],
  ])('of %s', (source, commit) => {
    test('R04: at COMMIT, after the server has committed: 503, and the retry is a duplicate', async () => {
      const { database, proxy, receiver } = await startReceiver()
      const { fired } = proxy.arm({ matches: commit, fault: 'drop-after' })
      const delivery = fromPartner({ key: 'evt_1' })

      const lost = await receiver.inbox.receive(source, delivery)
      await fired

      expect(lost).toMatchObject({ status: 503, outcome: 'unavailable' })
      expect(lost.headers['retry-after']).toMatch(/^\d+$/)
      expect(receiver.count('store.commit-unknown')).toBe(1)
      expect(await database.count('events')).toBe(2)
      expect(await receiver.inbox.receive(source, delivery)).toMatchObject({
        status: 200,
        outcome: 'duplicate',
      })
      expect(await database.count('events')).toBe(2)
    })

    test('R05: at COMMIT, before the server has seen it: 503, and the retry is accepted', async () => {
      const { database, proxy, receiver } = await startReceiver()
      const { fired } = proxy.arm({ matches: commit, fault: 'drop-before' })
      const delivery = fromPartner({ key: 'evt_1' })

      const lost = await receiver.inbox.receive(source, delivery)
      await fired

      expect(lost).toMatchObject({ status: 503, outcome: 'unavailable' })
      // The same happening as in R04: this side of the wire cannot tell the two apart.
      expect(receiver.count('store.commit-unknown')).toBe(1)
      expect(await receiver.inbox.receive(source, delivery)).toMatchObject({
        status: 200,
        outcome: 'accepted',
      })
      expect(await database.count('events')).toBe(2)
    })

    test('R06: a COMMIT that is never answered is 503 at the deadline, and its connection is not used again', async () => {
      const { proxy, receiver } = await startReceiver({ answerTimeoutMs: 1_500 })
      const armed = proxy.arm({ matches: commit, fault: 'black-hole' })
      const delivery = fromPartner({ key: 'evt_1' })

      const silent = await receiveUntilSent(receiver, armed, { source, delivery })
      const connectionsBefore = proxy.connections
      await armed.fired

      expect(silent).toMatchObject({ status: 503, outcome: 'unavailable' })
      // The pool has one place: an answer now shows that the silent connection has left it.
      // A retry that is faster than the end of that connection still joins its answer.
      const retry = () => receiver.inbox.receive(source, delivery)
      await expect.poll(retry).toMatchObject({ status: 200, outcome: 'duplicate' })
      expect(proxy.connections).toBeGreaterThan(connectionsBefore)
    })
  })

  test('R06: an INSERT that is never answered is 503 as well, and the retry stores the event once', async () => {
    const { database, proxy, receiver } = await startReceiver({ answerTimeoutMs: 1_500 })
    const matches = /record_new/i
    const armed = proxy.arm({ matches, fault: 'black-hole' })
    const delivery = fromPartner({ key: 'evt_1' })

    const saidBefore = receiver.said.length
    const silent = await receiveUntilSent(receiver, armed, { source: 'watched', delivery })
    await armed.fired

    await expect
      .poll(async () => (await receiver.inbox.receive('watched', delivery)).status)
      .toBe(200)
    expect(await database.count('events')).toBe(2)
    expect(silent).toMatchObject({ status: 503 })
    // Nothing more was said on the silent connection, not even that it is over.
    const said = receiver.said.slice(saidBefore)
    const insert = said.findIndex(({ text }) => matches.test(text))
    const later = said.slice(insert + 1)
    expect(later.filter(({ connection }) => connection === said[insert]?.connection)).toEqual([])
  })

  test('R08: with every connection taken, deliveries are 503 and none of them waits without end', async () => {
    const database = await createFaultDatabase('postgres')
    const receiver = createFaultInbox(database, {
      poolMax: 1,
      receive: { answerTimeoutMs: 1_500, waitingMax: 5 },
    })
    await receiver.inbox.start()
    await warmUp(receiver)
    expect(receiver.inbox.isReady()).toBe(true)
    const taken = await receiver.pool!.connect()
    const deliveries = Array.from({ length: 30 }, (_, i) => fromPartner({ key: `evt_${i}` }))

    const answers = await Promise.all(
      deliveries.map((delivery) => receiver.inbox.receive('partner', delivery)),
    )
    await until('it is not ready', () => !receiver.inbox.isReady())

    expect(answers.map(({ status }) => status)).toEqual(deliveries.map(() => 503))
    // Before the connection is free: a batch whose time ends in that very millisecond may still use it.
    expect(await database.count('events')).toBe(1)
    taken.release()
    const refused = receiver.happened.filter(
      ({ about }) => 'error' in about && (about.error?.message ?? '').includes('deliveries wait'),
    )
    expect(refused.length).toBeGreaterThan(0)
    for (const delivery of deliveries) await acceptInTheEnd(receiver, delivery)
    expect(await database.count('events')).toBe(31)
  })
})

describe('a connection to PostgreSQL that is lost when handlers commit', () => {
  test.each([
    ['H03', 'after the server has committed, the handler does not run again', 'drop-after', 1],
    ['H03', 'with no answer ever, the handler does not run again', 'black-hole', 1],
    ['H04', 'before the server has seen it, the handler runs again', 'drop-before', 2],
  ] as const)('%s: %s, and the effect happened once', async (_id, _what, fault, runs) => {
    const { database, proxy } = await startProxy()
    const worker = createFaultInbox(database, {
      connection: proxy.config,
      worker: { concurrency: 1, deadAfterMs: 500 },
    })
    let ran = 0
    worker.inbox.on('partner', '*', (event, { tx }) => {
      ran += 1
      return tx.query('insert into effects values ($1, $2)', [event.key, `run ${ran}`])
    })
    await worker.inbox.start()
    const armed = proxy.arm({ matches: /hookonce\.commit/, fault })
    const eventId = await accept(worker, fromPartner({ key: 'evt_1' }))
    await armed.fired

    // A connection that never answers is given up after 30 s by the store itself; ending it stands in for that.
    if (fault === 'black-hole') await proxy.close()
    else await worker.untilHappened('group.commit-unknown')
    const reader = createFaultInbox(database)
    await expect.poll(async () => (await reader.inbox.admin.findEvent(eventId))?.state).toBe('done')

    expect(ran).toBe(runs)
    expect(await database.countEffects('evt_1')).toBe(1)
    const event = await reader.inbox.admin.findEvent(eventId)
    expect(event?.outcome).toMatchObject({ state: 'done', attempts: 1 })
    expect(event?.failures).toEqual([])
  })
})

/** A receiver behind a proxy, with one event stored and a pool of one. */
async function startReceiver(receive: ReceiveOptions = {}) {
  const { database, proxy } = await startProxy()
  const said: Boundary[] = []
  const probe = (boundary: Boundary): undefined => {
    if (boundary.phase === 'before') said.push(boundary)
  }
  const { config: connection } = proxy
  const made = createFaultInbox(database, { connection, poolMax: 1, receive, probe })
  await warmUp(made)
  return { database, proxy, receiver: { ...made, said } }
}

/** Opens the store, which may take longer than a sender waits, stores a first event and tells others of it. */
async function warmUp(receiver: FaultInbox): Promise<void> {
  await receiver.inbox.admin.countEvents()
  await acceptInTheEnd(receiver, fromPartner({ key: 'evt_warm' }))
  const { pool, statements } = receiver
  await until(
    'others were told of it, and the connection is free again',
    () =>
      statements.some((text) => text.includes('pg_notify')) && pool?.idleCount === pool?.totalCount,
  )
}

/** Again where its time was over before the statement was sent: something else may need the one connection as well. */
async function receiveUntilSent(
  { inbox }: FaultInbox,
  armed: ArmedRule,
  { source, delivery }: { readonly source: string; readonly delivery: Delivery },
): Promise<Awaited<ReturnType<FaultInbox['inbox']['receive']>>> {
  for (;;) {
    const answer = await inbox.receive(source, delivery)
    if (armed.hasCome()) return answer
  }
}

/** With so short a deadline a machine that is busy may need another try. */
async function acceptInTheEnd({ inbox }: FaultInbox, delivery: Delivery): Promise<void> {
  await expect
    .poll(async () => (await inbox.receive('partner', delivery)).status, { interval: 1 })
    .toBe(200)
}

async function startProxy(): Promise<{ database: FaultDatabase; proxy: WireProxy }> {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  return { database, proxy }
}
