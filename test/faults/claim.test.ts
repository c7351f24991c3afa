import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Group } from '../../src/store/contract/group.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../support/builders.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { until } from '../support/faults/until.ts'

const WRITE = 'insert into effects values ($1, $2)'

describe('claims on PostgreSQL', () => {
  test('C03: an event held by a frozen worker is run by another one, and what the frozen one does later fails', async () => {
    const database = await createFaultDatabase('postgres')
    const frozen = await startSubject('worker', {
      store: database.store,
      worker: { concurrency: 1, deadAfterMs: 60_000 },
      handler: { timeoutMs: 5_000, retry: { firstMs: 1 } },
    })
    const other = createFaultInbox(database, { worker: { concurrency: 1, deadAfterMs: 500 } })
    await accept(
      other,
      fromPartner({
        key: 'evt_1',
        steps: [
          ['write', 'frozen'],
          ['freeze', 'inside'],
          ['write', 'thawed'],
        ],
      }),
    )
    await frozen.untilReached('inside evt_1')

    other.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'other']))
    await other.inbox.start()
    await other.untilHappened('event.done', 'evt_1')
    frozen.signal('SIGCONT')
    await Promise.race([
      frozen.untilHappened('event.failed', 'evt_1'),
      frozen.untilHappened('group.given-back'),
    ])

    expect(await database.query('select event_key, note from effects')).toEqual([
      { event_key: 'evt_1', note: 'other' },
    ])
    const event = await other.getEvent('evt_1')
    // To the others a worker that stands still has crashed; the frozen one adds nothing to that.
    expect(event.outcome).toMatchObject({ state: 'done', attempts: 1 })
    expect(event.failures.map(({ reason }) => reason)).toEqual(['crashed'])
  })

  test('C07: a frozen worker adds no failure of its own to an event that another one has failed meanwhile', async () => {
    const database = await createFaultDatabase('postgres')
    const frozen = await startSubject('worker', {
      store: database.store,
      worker: { concurrency: 1, deadAfterMs: 60_000 },
      handler: { timeoutMs: 2_000 },
    })
    const other = createFaultInbox(database, { worker: { concurrency: 1, deadAfterMs: 500 } })
    await accept(
      other,
      fromPartner({
        key: 'evt_1',
        steps: [
          ['freeze', 'inside'],
          ['write', 'thawed'],
        ],
      }),
    )
    await frozen.untilReached('inside evt_1')
    other.inbox.on('partner', '*', { retry: { firstMs: 3_600_000 } }, () => {
      throw new Error('the other one')
    })
    await other.inbox.start()
    await other.untilHappened('event.failed', 'evt_1')

    frozen.signal('SIGCONT')
    await Promise.race([
      frozen.untilHappened('event.failed', 'evt_1'),
      frozen.untilHappened('group.given-back'),
    ])

    const event = await other.getEvent('evt_1')
    expect(event).toMatchObject({ state: 'ready', attempts: 1 })
    expect(event.failures.map(({ reason }) => reason)).toEqual(['crashed', 'error'])
    expect(await database.countEffects()).toBe(0)
  })

  test('C05: a claim of 10 takes 10 rows, whatever plan the database chooses', async () => {
    const database = await createFaultDatabase('postgres')
    for (const plan of PLANS) {
      const store = await openStore(database, plan.map((name) => `-c enable_${name}=off`).join(' '))
      if ((await store.operators.countEvents()) === 0) await fill(store, 2_000)

      const group = await store.queue.claim(
        aClaim({ limit: 10, slot: { workerId: plan.join(), slot: 0 } }),
      )

      expect(group?.events.length).toBe(10)
      const free = await database.query(
        'select event_id from hookonce.queue for update skip locked',
      )
      expect(free.length, `with ${plan.join(' and ')} off`).toBe(1_990)
      await group?.abandon()
    }
  })

  test('C16: of 50 workers that ask for one event one gets it, and the others do not wait', async () => {
    const database = await createFaultDatabase('postgres')
    const store = await openStore(database)
    await fill(store, 1)

    const claims = Array.from({ length: 50 }, (_, i) =>
      store.queue.claim(aClaim({ slot: { workerId: `worker-${i}`, slot: 0 } })),
    )
    // All have answered while the one group is still open: no claim waited for it to end.
    const groups = (await Promise.all(claims)).filter(
      (group): group is Group<PostgresTx> => group !== undefined,
    )

    expect(groups.length).toBe(1)
    expect(groups[0]!.status()).toBe('open')
    await groups[0]!.abandon()
    expect((await store.queue.claim(aClaim()))?.events.length).toBe(1)
  })

  test('C21: a worker told to stop with 20 handlers running gives back those that do not end, at no cost to them', async () => {
    const database = await createFaultDatabase('postgres')
    const stopping = await startSubject('worker', {
      store: { ...database.store, engine: 'postgres', poolMax: 30 } as typeof database.store,
      worker: { concurrency: 20, reserved: 0, groupMax: 1, stopGraceMs: 6_000 },
      handler: { timeoutMs: 60_000 },
    })
    const keys = Array.from({ length: 20 }, (_, i) => `evt_${i}`)
    const other = createFaultInbox(database, { worker: {} })
    const steps = [
      ['write', 'first'],
      ['reach', 'inside'],
    ] as const
    await Promise.all(keys.map((key) => accept(other, fromPartner({ key, steps }))))
    await Promise.all(keys.map((key) => stopping.untilReached(`inside ${key}`)))

    stopping.signal('SIGTERM')
    for (const key of keys.slice(0, 10)) stopping.goOn(`inside ${key}`)
    expect(await stopping.gone).toMatchObject({ code: 0 })

    // Of those that were told to go on a busy machine may end only some in time.
    const done = await database.count('outcomes', `state = 'done' and attempts = 1`)
    const givenBack = 'attempts = 0 and crashes = 0 and parked is null'
    expect(done).toBeGreaterThan(0)
    expect(done).toBeLessThanOrEqual(10)
    expect(await database.count('queue', givenBack)).toBe(20 - done)
    other.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'second']))
    await other.inbox.start()
    await until('the rest is done', () => other.count('event.done') === 20 - done)
    // It has said goodbye. One that had no time left for that is found dead, and had nothing by then.
    const countWorkers = 'select count(distinct worker_id)::int as found from hookonce.workers'
    await until(
      'the other one is alone',
      async () => (await database.query(countWorkers))[0]?.['found'] === 1,
    )
    expect(other.count('event.crashed')).toBe(0)
    expect(await database.listWrongEffects(keys)).toEqual([])
    expect(await database.count('outcomes', `state = 'done' and attempts = 1`)).toBe(20)
  })
})

/** What is switched off, so that the planner has to join the claim to the events in another way. */
const PLANS = [
  ['hashjoin', 'mergejoin'],
  ['hashjoin', 'mergejoin', 'material', 'memoize'],
  ['hashjoin', 'mergejoin', 'indexscan', 'bitmapscan', 'indexonlyscan'],
  ['nestloop', 'hashjoin'],
  ['nestloop', 'mergejoin'],
  ['seqscan', 'sort'],
]

async function openStore(database: FaultDatabase, options = ''): Promise<Store<PostgresTx>> {
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const pool = new pg.Pool({ ...database.store.connection, max: 60, options })
  const store = postgresStore({ pool })
  await store.open()
  onTestFinished(async () => {
    await store.close()
    await pool.end()
  })
  return store
}

async function fill(store: Store<PostgresTx>, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, i) =>
    anEventDraft({ key: `evt_${i}`, body: `{"n":${i}}` }),
  )
  await store.events.record(drafts, { deadlineMs: 30_000 })
}
