import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { aClaim, anEventDraft, NAMED } from '../../support/builders.ts'
import { sweepOthers } from '../../support/store-steps.ts'
import {
  hasNoPostgres,
  newPool,
  openPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { WireProxy } from '../../support/postgres/wire-proxy.ts'

const LISTENING =
  "select pid from pg_stat_activity where datname = current_database() and query like 'listen %'"
const SWEEP = { crashesMax: 3, me: 'sweeper' }

describe.skipIf(hasNoPostgres)('sweeping on PostgreSQL', () => {
  test('many sweepers at once count one crash', async () => {
    const { config, store } = await openPostgres()
    const recorded = await store.events.record([anEventDraft()], { deadlineMs: 20_000 })
    const { eventId } = recorded[0]!
    await store.workers.announce({ workerId: 'gone', slot: 0 }, [{ eventId, attempt: 1 }])
    const sweepers = await Promise.all(
      Array.from({ length: 8 }, async () => openStoreOn({ ...config, max: 3 })),
    )

    const swept = await Promise.all(sweepers.map((sweeper) => sweepOthers(sweeper, SWEEP)))

    expect(swept.flat()).toEqual([
      { eventId, ...NAMED, attempt: 1, crashes: 1, dead: false, workerId: 'gone' },
    ])
    expect(await store.operators.findEvent(eventId)).toMatchObject({ crashes: 1 })
  })

  test('a frozen worker keeps what it holds until its transaction ends', async () => {
    const { store, query } = await openPostgres()
    await store.events.record([anEventDraft({ key: 'held' })], { deadlineMs: 20_000 })
    const group = await store.queue.claim(aClaim({ slot: { workerId: 'frozen', slot: 0 } }))
    await store.workers.announce({ workerId: 'frozen', slot: 0 }, group!.events)

    expect(await sweepOthers(store, SWEEP)).toEqual([])
    expect(await query('select cardinality(running) as listed from hookonce.workers')).toEqual([
      { listed: 1 },
    ])

    await group!.abandon()
    expect(await sweepOthers(store, SWEEP)).toMatchObject([{ crashes: 1, workerId: 'frozen' }])
    expect(await query('select * from hookonce.workers')).toEqual([])
    expect(await query('select * from hookonce.commit_fences')).toEqual([])
  })

  test('the control connection comes back after it was lost', async () => {
    const { store, query } = await openPostgres()
    await store.workers.beat({ workerId: 'worker-1', slots: 2, handles: [] })
    await query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )

    await store.workers.beat({ workerId: 'worker-1', slots: 2, handles: [] })

    expect(await query('select count(*)::integer as slots from hookonce.workers')).toEqual([
      { slots: 2 },
    ])
  })

  test('C15: another process is heard, also after the listening connection was lost', async () => {
    const { config, store, query } = await openPostgres()
    let heard = (): void => undefined
    const next = async (): Promise<void> => new Promise((resolve) => (heard = resolve))
    const stop = await store.queue.listen(() => heard())
    const other = await openStoreOn(config)

    const first = next()
    await other.queue.notify()
    await first

    // Coming back counts as a wake, since it is not known what was missed.
    const back = next()
    await query(`select pg_terminate_backend(pid) from (${LISTENING}) listening`)
    await back
    const second = next()
    await other.queue.notify()
    await second

    await stop()
    await expect.poll(() => query(LISTENING)).toEqual([])
  })

  test('a connection lost while it begins to listen is made again once', async () => {
    const { config, query } = await openPostgres()
    const proxy = await WireProxy.start(config)
    onTestFinished(() => proxy.close())
    // Without timers of its own, so that the only one left is ours.
    const store = postgresStore({ pool: newPool({ ...proxy.config, idleTimeoutMillis: 0 }) })
    onTestFinished(() => store.close())
    await store.open()
    const { fired } = proxy.arm({ matches: /listen "/, fault: 'drop-before' })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    let heard = (): void => undefined
    const isBack = new Promise<void>((resolve) => (heard = resolve))

    const stop = await store.queue.listen(() => heard())

    expect(vi.getTimerCount()).toBe(1)
    await fired
    vi.runOnlyPendingTimers()
    await isBack
    expect(await query(LISTENING)).toHaveLength(1)
    await stop()
  })

  test('every crash is noted and none is an attempt', async () => {
    const { store } = await openPostgres()
    const recorded = await store.events.record([anEventDraft()], { deadlineMs: 20_000 })
    const { eventId } = recorded[0]!
    const crash = async (): Promise<void> => {
      await store.workers.announce({ workerId: 'gone', slot: 0 }, [{ eventId, attempt: 1 }])
      expect(await sweepOthers(store, { ...SWEEP, crashesMax: 2 })).toHaveLength(1)
    }

    await crash()
    expect(await store.operators.findEvent(eventId)).toMatchObject({
      state: 'ready',
      attempts: 0,
      failures: [{ reason: 'crashed' }],
    })
    await crash()

    expect(await store.operators.findEvent(eventId)).toMatchObject({
      state: 'dead',
      reason: 'crashed',
      attempts: 0,
      outcome: { state: 'dead', attempts: 0 },
      failures: [{ reason: 'crashed' }, { reason: 'crashed' }],
    })
  })
})
