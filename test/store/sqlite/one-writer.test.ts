import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, DEADLINE_MS, done, recordOne } from '../../support/store-steps.ts'
import { createEmptyDatabase, openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)
const SLOT = { workerId: 'worker-1', slot: 0 }
const OTHER_SLOT = { workerId: 'worker-1', slot: 1 }

describe('sqlite: what waits for the one writer, and what does not', () => {
  test('what is known is found while a handler runs here and while another process writes', async () => {
    const { database, store } = await openStore(underTest)
    const impatient = database.newStore({ writeWaitMs: 1 })
    await impatient.open()
    const { eventId } = await recordOne(store, anEventDraft())
    const drafts = [anEventDraft({ key: 'new' }), anEventDraft(), anEventDraft({ body: 'other' })]
    const expected = [undefined, { status: 'duplicate', eventId }, undefined]
    const group = await claim(store)
    await group.settle(group.events.map(done))

    expect(await store.events.findKnown?.(drafts)).toEqual(expected)
    expect(await impatient.events.findKnown(drafts)).toEqual(expected)

    expect(await group.commit()).toEqual({ status: 'committed' })
  })

  test('a store opens, reads and closes while another process writes', async () => {
    const { database, store } = await openStore(underTest)
    const { eventId } = await recordOne(store, anEventDraft())
    await database.execute('begin immediate')
    const late = database.newStore({ writeWaitMs: 1 })

    await late.open()

    expect(await late.operators.findEvent(eventId)).toMatchObject({ state: 'ready' })
    await late.close()
    await database.execute('rollback')
  })

  test('a dead event that its redelivery revives is not answered from what is known', async () => {
    const { store } = await openStore(underTest)
    const { eventId } = await recordOne(store, anEventDraft())
    const group = await claim(store)
    await group.settle(
      group.events.map(({ run, attempt }) => ({
        state: 'dead',
        eventId,
        run,
        attempt,
        durationMs: 0,
        reason: 'gave up',
        failure: { attempt, reason: 'error', message: 'Error', durationMs: 0 },
      })),
    )
    await group.commit()

    expect(
      await store.events.findKnown?.([
        anEventDraft({ redelivery: 'retry' }),
        anEventDraft({ redelivery: 'count' }),
      ]),
    ).toEqual([undefined, { status: 'duplicate', eventId }])
  })

  test('H23: a slot that waits in vain for the handler of another one has nothing to do, and that is no error', async () => {
    const database = await createEmptyDatabase(underTest)
    const store = database.newStore({ writeWaitMs: 20 })
    await store.open()
    for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
    const group = await claim(store, { slot: SLOT, limit: 1 })

    // Again and again: a timer may be up to a millisecond early.
    for (let nth = 0; nth < 20; nth += 1)
      expect(await store.queue.claim(aClaim({ slot: OTHER_SLOT }))).toBeUndefined()

    await group.abandon()
    await (await claim(store, { slot: OTHER_SLOT })).abandon()
  })

  test('a handler that has the writer for long does not make the store seem unable to write', async () => {
    const database = await createEmptyDatabase(underTest)
    const store = database.newStore({ writeWaitMs: 20 })
    await store.open()
    await recordOne(store, anEventDraft())
    const group = await claim(store)

    expect(await store.events.keepClock({ always: true })).toEqual({
      isWritten: false,
      wentBackMs: 0,
    })

    await group.abandon()
    expect(await store.events.keepClock({ always: true })).toEqual({
      isWritten: true,
      wentBackMs: 0,
    })
  })

  test('the time is written between the handlers of a backlog', async () => {
    const { store } = await openStore(underTest)
    for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
    const first = await claim(store, { slot: SLOT, limit: 1 })
    const kept = store.events.keepClock({ always: false })
    await store.events.findKnown?.([])
    const next = claim(store, { slot: OTHER_SLOT, limit: 1 })

    await first.abandon()

    expect(await kept).toEqual({ isWritten: true, wentBackMs: 0 })
    await (await next).abandon()
  })

  test('a claim that loses the lock between its two transactions leaves no list behind', async () => {
    const { database, store } = await openStore(underTest)
    const impatient = database.newStore({ writeWaitMs: 50 })
    await impatient.open()
    const { eventId } = await recordOne(store, anEventDraft())

    const lost = await impatient.queue.claim({
      ...aClaim({ slot: SLOT }),
      get enough() {
        // Runs when the first transaction has ended and the second has not begun.
        queueMicrotask(() => void database.execute('begin immediate'))
        return 10
      },
    })

    expect(lost).toBeUndefined()
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'running' })
    await database.execute('rollback')
    const group = await vi.waitFor(() => claim(store, { slot: OTHER_SLOT }), {
      timeout: DEADLINE_MS,
    })
    expect(group.events).toMatchObject([{ eventId }])
    await group.abandon()
  })

  test('a list that is emptied late does not take the next list of its slot with it', async () => {
    const { database, store } = await openStore(underTest)
    const { eventId } = await recordOne(store, anEventDraft())
    const blocker = await claim(store, { slot: OTHER_SLOT })
    await store.workers.announce(SLOT, [])
    const next = store.queue.claim(aClaim({ slot: SLOT }))
    await blocker.abandon()

    const group = (await next) ?? (await claim(store, { slot: SLOT }))

    expect(group.events).toMatchObject([{ eventId }])
    expect(await database.query("select slot from hookonce_workers where running <> '[]'")).toEqual(
      [{ slot: 0 }],
    )
    await group.abandon()
  })

  test('a group that ends while another process has the lock empties its list later', async () => {
    const { database, store, second } = await openStore(underTest)
    const { eventId } = await recordOne(store, anEventDraft())
    await database.query('create table once (id integer primary key)')
    const group = await claim(store, { slot: SLOT })
    // SQLite ends the transaction by itself, and the other process is the first to ask.
    await expect(
      group.lend().tx.query('insert or rollback into once values (1), (1)'),
    ).rejects.toThrow()
    await database.execute('begin immediate')

    await group.abandon()

    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'running' })
    await database.execute('rollback')
    const other = await second()
    const again = await vi.waitFor(() => claim(other, { slot: OTHER_SLOT }), {
      timeout: DEADLINE_MS,
    })
    expect(again.events).toMatchObject([{ eventId }])
    await again.abandon()
  })

  test('a slot empties its list while the group of another slot is open', async () => {
    const { database, store } = await openStore(underTest)
    const { eventId } = await recordOne(store, anEventDraft({ key: 'a' }))
    await recordOne(store, anEventDraft({ key: 'b' }))
    await store.workers.announce(OTHER_SLOT, [{ eventId, attempt: 1 }])
    const group = await claim(store, { slot: SLOT })
    expect(group.events).toMatchObject([{ key: 'b' }])

    await store.workers.announce(OTHER_SLOT, [])
    await group.settle(group.events.map(done))
    await group.commit()

    await vi.waitFor(
      async () =>
        expect(await database.query('select running from hookonce_workers order by slot')).toEqual([
          { running: '[]' },
          { running: '[]' },
        ]),
      { timeout: DEADLINE_MS },
    )
  })

  test('a list that was to be emptied does not bring a removed worker back', async () => {
    const database = await createEmptyDatabase(underTest)
    const store = database.newStore({ writeWaitMs: 200 })
    await store.open()
    await recordOne(store, anEventDraft())
    const group = await claim(store, { slot: SLOT })
    await store.workers.announce(OTHER_SLOT, [])
    // By then the emptying, which began to wait before, has failed once and will be tried again.
    await expect(store.maintain()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await group.abandon()
    await store.workers.remove(SLOT.workerId)

    const next = await claim(store, { slot: { workerId: 'worker-2', slot: 0 } })
    await store.workers.announce({ workerId: 'worker-2', slot: 1 }, [])
    await next.abandon()

    const list = () => database.query('select worker_id, slot from hookonce_workers order by 1, 2')
    await vi.waitFor(
      async () => expect(await list()).toContainEqual({ worker_id: 'worker-2', slot: 1 }),
      {
        timeout: DEADLINE_MS,
      },
    )
    expect(await list()).toEqual([
      { worker_id: 'worker-2', slot: 0 },
      { worker_id: 'worker-2', slot: 1 },
    ])
  })

  // A worker that drains a queue asks for the lock again before another connection can.
  test('a delivery gets its turn beside a worker that never pauses', async () => {
    const { store, second } = await openStore(underTest)
    const receiver = await second()
    const drafts = Array.from({ length: 400 }, (_, n) => anEventDraft({ key: `evt_${n}` }))
    await store.events.record(drafts, { deadlineMs: DEADLINE_MS })

    let isStored = false
    const stored = receiver.events
      .record([anEventDraft({ key: 'late' })], { deadlineMs: 60_000 })
      .finally(() => (isStored = true))
    let groups = 0
    while (!isStored && groups < drafts.length) {
      const group = await claim(store, { limit: 1 })
      await wait(10)
      await group.settle(group.events.map(done))
      await group.commit()
      groups += 1
    }

    expect(groups).toBeLessThan(drafts.length)
    expect(await stored).toMatchObject([{ status: 'accepted' }])
  })
})
