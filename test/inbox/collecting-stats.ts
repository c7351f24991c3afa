import { describe, expect, test } from 'vitest'
import { createEventFinder } from '../../src/admin/event-finder.ts'
import type { EventFinder } from '../../src/admin/event-finder.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { aMessageDraft, anEventDraft } from '../support/builders.ts'
import { copyEvent } from '../support/copy-event.ts'
import { leaseOne } from '../support/lease-steps.ts'
import {
  claim,
  dead,
  done,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

/** What `admin.stats` counts, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function collectingStatsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: stats`, () => {
    test('an empty inbox has none of anything', async () => {
      const { finder } = await open(underTest)

      const stats = await finder.stats()

      expect(new Set(Object.values(stats.states).map(({ count }) => count))).toEqual(new Set([0]))
      expect(stats.queue).toEqual({ due: { count: 0, isExact: true }, oldestDueAt: undefined })
      expect(stats).toMatchObject({ sources: [], messages: [], workers: [] })
      // SQLite cannot tell.
      const { openTransactions } = stats
      expect(Array.isArray(openTransactions)).toBe(underTest.name === 'PostgreSQL')
      expect(stats.rates).toHaveLength(60)
      expect((await finder.stats({ over: 'day' })).rates).toHaveLength(24)
    })

    test('events are counted by state and source', async () => {
      const { store, finder } = await open(underTest)
      for (const [key, becomes] of [
        ['done', done],
        ['dead', dead],
        ['skipped', skipped],
        ['unhandled', unhandled],
      ] as const) {
        await recordOne(store, anEventDraft({ key }))
        await runOne(store, becomes)
      }
      await recordOne(store, anEventDraft({ key: 'done', body: 'other' }))
      await recordOne(store, anEventDraft({ key: undefined, body: 'no key' }))
      await recordOne(store, anEventDraft({ key: 'waits', source: 'github' }))

      const { states, sources } = await finder.stats()

      expect(Object.entries(states).filter(([, { count }]) => count > 0)).toEqual(
        ['ready', 'done', 'dead', 'skipped', 'unhandled', 'conflict', 'quarantined'].map(
          (state) => [state, { count: 1, isExact: true }],
        ),
      )
      expect(sources).toEqual([
        { source: 'github', states: { ready: 1 } },
        {
          source: 'stripe',
          states: { done: 1, dead: 1, skipped: 1, unhandled: 1, conflict: 1, quarantined: 1 },
        },
      ])
      const github = await finder.stats({ source: 'github' })
      expect(github.states.dead.count).toBe(0)
      expect(github.states.ready.count).toBe(1)
      expect(github.sources).toEqual([{ source: 'github', states: { ready: 1 } }])
    })

    test('what is due is counted, and the oldest of it is known', async () => {
      const { store, finder, database } = await open(underTest)
      await recordOne(store, anEventDraft({ key: 'later' }))
      await runOne(store, retryIn(3_600_000))
      await recordOne(store, anEventDraft({ key: 'due', type: 'a' }))
      const { eventId } = await recordOne(store, anEventDraft({ key: 'oldest', type: 'b' }))
      await makeDueSince(store, database, { eventId, hours: 2 })

      const { at, queue } = await finder.stats()

      expect(queue.due).toEqual({ count: 2, isExact: true })
      const age = at.getTime() - (queue.oldestDueAt?.getTime() ?? 0)
      expect(Math.round(age / 3_600_000)).toBe(2)
    })

    test('a worker shows what it runs and since when, and its events count as running', async () => {
      const { store, finder } = await open(underTest)
      await recordOne(store, anEventDraft({ key: 'leased' }))
      const leased = await leaseOne(store)
      const { eventId } = await recordOne(store, anEventDraft({ key: 'runs' }))
      await store.workers.announce({ workerId: 'worker-1', slot: 0 }, [{ eventId, attempt: 1 }])

      const { at, workers, states } = await finder.stats()

      expect(workers).toEqual([
        {
          workerId: 'worker-1',
          beatAt: expect.any(Date) as Date,
          running: [
            {
              eventId,
              source: 'stripe',
              type: 'invoice.paid',
              attempt: 1,
              since: expect.any(Date) as Date,
            },
            {
              eventId: leased.eventId,
              source: 'stripe',
              type: 'invoice.paid',
              attempt: 1,
              since: undefined,
            },
          ],
        },
      ])
      expect(workers[0]?.running[0]?.since?.getTime()).toBeLessThanOrEqual(at.getTime() + 60_000)
      expect(states).toMatchObject({ running: { count: 2 }, ready: { count: 0 } })
    })

    test('messages are counted by destination and state', async () => {
      const { store, finder } = await open(underTest)
      await recordOne(store, anEventDraft())
      const group = await claim(store)
      await store.messages.enqueue(group.lend().tx, [
        aMessageDraft({ key: '1' }),
        aMessageDraft({ key: '2' }),
        aMessageDraft({ key: '3', destination: 'mail' }),
      ])
      await group.settle(group.events.map(done))
      await group.commit()
      await store.messages.pauseDestination('mail', 'moving')

      const { messages, pauses } = await finder.stats()

      expect(messages).toEqual([
        { destination: 'mail', state: 'ready', count: 1, isExact: true },
        { destination: 'receipts', state: 'ready', count: 2, isExact: true },
      ])
      expect(pauses).toMatchObject([{ kind: 'destination', name: 'mail' }])
    })

    test('rates say what was received and what came to rest', async () => {
      const { store, finder } = await open(underTest)
      await recordOne(store, anEventDraft({ key: 'fine' }))
      await runOne(store, done)
      await recordOne(store, anEventDraft({ key: 'broken' }))
      await runOne(store, dead)
      await recordOne(store, anEventDraft({ key: 'waits', source: 'github' }))

      const sum = async (query: object) => {
        const { rates } = await finder.stats(query)
        return {
          received: rates.reduce((total, { received }) => total + received.count, 0),
          done: rates.reduce((total, { settled }) => total + (settled.done ?? 0), 0),
          dead: rates.reduce((total, { settled }) => total + (settled.dead ?? 0), 0),
        }
      }

      expect(await sum({})).toEqual({ received: 3, done: 1, dead: 1 })
      expect(await sum({ over: 'day' })).toEqual({ received: 3, done: 1, dead: 1 })
      expect(await sum({ source: 'github' })).toEqual({ received: 1, done: 0, dead: 0 })
    })

    test('a count ends at 10,000, and says that there may be more', async () => {
      const { store, finder, database } = await open(underTest)
      const { engine } = store
      await recordOne(store, anEventDraft({ key: 'dead' }))
      const buried = await runOne(store, dead)
      await copyEvent(database, { engine, eventId: buried, count: 10_100, from: 20_000 })
      const { eventId } = await recordOne(store, anEventDraft())
      await copyEvent(database, { engine, eventId, count: 10_100 })

      const { states, queue, sources } = await finder.stats()

      expect(states.ready).toEqual({ count: 10_000, isExact: false })
      expect(states.dead).toEqual({ count: 10_000, isExact: false })
      expect(queue.due).toEqual({ count: 10_000, isExact: false })
      expect(sources).toEqual([{ source: 'stripe', states: { ready: 10_000, dead: 10_000 } }])
    })
  })
}

async function open(underTest: StoreUnderTest): Promise<{
  store: Store<QueryTx>
  finder: EventFinder
  database: DatabaseUnderTest
}> {
  const { store, database } = await openStore(underTest)
  const finder = createEventFinder((question) => question(store))
  return { store, finder, database }
}

async function makeDueSince(
  store: Store<QueryTx>,
  database: DatabaseUnderTest,
  { eventId, hours }: { readonly eventId: string; readonly hours: number },
): Promise<void> {
  const sql =
    store.engine === 'postgres'
      ? `update hookonce.queue set run_at = run_at - $2 * interval '1 hour' where event_id = $1`
      : 'update hookonce_queue set run_at = run_at - $2 * 3600000 where event_id = $1'
  await database.query(sql, [eventId, hours])
}
