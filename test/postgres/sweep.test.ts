import { describe, expect, test } from 'vitest'
import { aClaim, anEventDraft } from '../support/builders.ts'
import { hasNoPostgres, openPostgres, openStoreOn } from '../support/postgres/open-postgres.ts'

const LISTENING =
  "select pid from pg_stat_activity where datname = current_database() and query like 'listen %'"
const SWEEP = { deadAfterMs: 0, crashesMax: 3, me: 'sweeper' }

describe.skipIf(hasNoPostgres)('sweeping on PostgreSQL', () => {
  test('many sweepers at once count one crash', async () => {
    const { config, store } = await openPostgres()
    const recorded = await store.recordEvents([anEventDraft()], { deadlineMs: 20_000 })
    const { eventId } = recorded[0]!
    await store.announce({ workerId: 'gone', slot: 0 }, [{ eventId, attempt: 1 }])
    const sweepers = await Promise.all(
      Array.from({ length: 8 }, async () => openStoreOn({ ...config, max: 3 })),
    )

    const swept = await Promise.all(sweepers.map((sweeper) => sweeper.sweepWorkers(SWEEP)))

    expect(swept.flat()).toEqual([{ eventId, crashes: 1, dead: false, workerId: 'gone' }])
    expect(await store.findEvent(eventId)).toMatchObject({ crashes: 1 })
  })

  test('a frozen worker keeps what it holds until its transaction ends', async () => {
    const { store, query } = await openPostgres()
    await store.recordEvents([anEventDraft({ key: 'held' })], { deadlineMs: 20_000 })
    const group = await store.claimGroup(aClaim({ slot: { workerId: 'frozen', slot: 0 } }))
    await store.announce({ workerId: 'frozen', slot: 0 }, group!.events)

    expect(await store.sweepWorkers(SWEEP)).toEqual([])
    expect(await query('select cardinality(running) as listed from hookonce.workers')).toEqual([
      { listed: 1 },
    ])

    await group!.abandon()
    expect(await store.sweepWorkers(SWEEP)).toMatchObject([{ crashes: 1, workerId: 'frozen' }])
    expect(await query('select * from hookonce.workers')).toEqual([])
    expect(await query('select * from hookonce.commit_guards')).toEqual([])
  })

  test('the control connection comes back after it was lost', async () => {
    const { store, query } = await openPostgres()
    await store.beatWorker('worker-1', 2)
    await query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )

    await store.beatWorker('worker-1', 2)

    expect(await query('select count(*)::integer as slots from hookonce.workers')).toEqual([
      { slots: 2 },
    ])
  })

  test('another process is heard, also after the listening connection was lost', async () => {
    const { config, store, query } = await openPostgres()
    let heard = (): void => undefined
    const next = async (): Promise<void> => new Promise((resolve) => (heard = resolve))
    const stop = await store.listen(() => heard())
    const other = await openStoreOn(config)

    const first = next()
    await other.notify()
    await first

    // Coming back counts as a wake, since nobody knows what was missed.
    const back = next()
    await query(`select pg_terminate_backend(pid) from (${LISTENING}) listening`)
    await back
    const second = next()
    await other.notify()
    await second

    await stop()
    await expect.poll(() => query(LISTENING)).toEqual([])
  })
})
