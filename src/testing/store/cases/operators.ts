import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import { act, claim, dead, done, recordOne, runOne } from '../steps/store-steps.ts'

export const operatorCases: readonly StoreCase[] = [
  ...casesOf('operators', [
    {
      name: 'an event that is not here is not found',
      run: async (open) => {
        const { store } = await open()

        assert.equal(await store.operators.findEvent(UNKNOWN), undefined)
        assert.deepEqual(await store.operators.listEventsByKey('stripe', 'evt_1'), [])
        assert.equal(await store.operators.countEvents(), 0)
      },
    },

    {
      name: 'events are counted by source',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ source: 'stripe', key: 'a' }))
        await recordOne(store, anEventDraft({ source: 'stripe', key: 'b' }))
        await recordOne(store, anEventDraft({ source: 'github', key: 'a' }))

        assert.equal(await store.operators.countEvents(), 3)
        assert.equal(await store.operators.countEvents('stripe'), 2)
        assert.equal(await store.operators.countEvents('shopify'), 0)
      },
    },

    {
      name: 'deliveries add up',
      run: async (open) => {
        const { store, second } = await open()
        const { eventId } = await recordOne(store, anEventDraft())

        await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 3 }])
        await (await second()).events.countDeliveries([{ eventId, outcome: 'duplicate', count: 2 }])
        await store.events.countDeliveries([])

        assertMatches(await store.operators.findEvent(eventId), { deliveries: 6 })
      },
    },

    {
      name: 'a forgotten event is accepted afresh when it is delivered again',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const first = await recordOne(store, anEventDraft())
        await runOne(store, done)
        assertMatches(await recordOne(other, anEventDraft()), { status: 'duplicate' })

        assertMatches(await act(store, 'forget', first.eventId), { status: 'done' })

        const again = await recordOne(other, anEventDraft())
        assert.equal(again.status, 'accepted')
        assert.notEqual(again.eventId, first.eventId)
        assert.deepEqual(await recordOne(store, anEventDraft()), {
          status: 'duplicate',
          eventId: again.eventId,
        })
      },
    },

    {
      name: 'forgetting changes the epoch for every process',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, done)
        const before = await other.events.beat(undefined)
        assert.equal((await other.events.beat(before.now)).epoch, before.epoch)

        await act(store, 'forget', eventId)

        assert.notEqual((await other.events.beat(before.now)).epoch, before.epoch)
      },
    },

    {
      name: 'forgetting drops the content and every key of an event',
      run: async (open) => {
        const { store } = await open()
        const policy = { sameBytes: 'duplicate' } as const
        const { eventId } = await recordOne(store, anEventDraft({ key: 'a', ...policy }))
        await recordOne(store, anEventDraft({ key: 'b', ...policy }))
        await runOne(store, done)

        await act(store, 'forget', eventId)

        assertMatches(await recordOne(store, anEventDraft({ key: 'b', ...policy })), {
          status: 'accepted',
        })
      },
    },

    {
      name: 'dead events are listed page by page, the newest first',
      run: async (open) => {
        const { store } = await open()
        const ids: string[] = []
        for (const key of ['a', 'b', 'c']) {
          await recordOne(store, anEventDraft({ key }))
          ids.unshift(await runOne(store, dead))
        }

        assert.deepEqual(
          (await store.operators.listDead({ limit: 10 })).map(({ id }) => id),
          ids,
        )
        assert.deepEqual(
          (await store.operators.listDead({ limit: 2 })).map(({ id }) => id),
          ids.slice(0, 2),
        )
        assertMatches(await store.operators.listDead({ limit: 1 }), [
          { key: 'c', state: 'dead', reason: 'gave up' },
        ])
        const [newest = '', second = '', oldest = ''] = ids
        // The place holds although the event that it names is dead no longer.
        await act(store, 'retry', newest)
        assert.deepEqual(
          (await store.operators.listDead({ below: newest, limit: 1 })).map(({ id }) => id),
          [second],
        )
        assert.deepEqual(await store.operators.listDead({ below: oldest, limit: 10 }), [])
      },
    },

    {
      name: 'what operators did is listed page by page, the latest first, also of one event',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft({ key: 'a' }))
        const { eventId: other } = await recordOne(store, anEventDraft({ key: 'b' }))
        for (const id of [eventId, other, eventId]) await act(store, 'discard', id)
        await runOne(store, done).catch(() => undefined)
        await act(store, 'replay', eventId)
        await act(store, 'replay', other)
        const subject = { kind: 'event', id: eventId } as const
        const all = await store.operators.listAudit({ limit: 100 })
        const ofOne = await store.operators.listAudit({ subject, limit: 100 })

        assert.deepEqual(
          await walkPages((below) => store.operators.listAudit({ below, limit: 1 })),
          all,
        )
        assert.deepEqual(
          await walkPages((below) => store.operators.listAudit({ subject, below, limit: 1 })),
          ofOne,
        )
        assert.ok(all.length > ofOne.length && ofOne.length > 1)
      },
    },

    {
      name: 'the runs of an event, and the events of a key, are listed page by page, the first one first',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft({ key: 'a' }))
        await act(store, 'discard', eventId)
        for (const _time of [1, 2, 3]) {
          await act(store, 'replay', eventId)
          await act(store, 'discard', eventId)
        }
        const runs = async (above: number | undefined, limit?: number) =>
          (await store.operators.listRuns(eventId, { above, limit })).map(({ run }) => run)
        assert.deepEqual(await runs(undefined), [1, 2, 3])
        assert.deepEqual(await runs(undefined, 2), [1, 2])
        assert.deepEqual(await runs(2, 2), [3])

        for (const text of ['one', 'two'])
          await recordOne(store, anEventDraft({ key: 'a', body: Buffer.from(text) }))
        const kept = (await store.operators.listEventsByKey('stripe', 'a')).map(({ id }) => id)
        const page = async (above: string | undefined, limit: number) =>
          (await store.operators.listEventsByKey('stripe', 'a', { above, limit })).map(
            ({ id }) => id,
          )
        assert.equal(kept.length, 3)
        assert.deepEqual(await page(undefined, 2), kept.slice(0, 2))
        assert.deepEqual(await page(kept[1], 2), kept.slice(2))
      },
    },

    {
      name: 'a dead event is retried with its attempts at zero and its failures on record',
      run: async (open) => {
        const { store, second } = await open()
        await recordOne(store, anEventDraft())
        const eventId = await runOne(store, dead)

        assertMatches(await act(await second(), 'retry', eventId), { status: 'done', run: 0 })

        assert.deepEqual(await store.operators.listDead({ limit: 10 }), [])
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          attempts: 0,
          failures: [{ attempt: 1 }],
        })
        const group = await claim(store)
        assertMatches(group.events, [{ eventId, attempt: 1 }])
        await group.settle(group.events.map(done))
        assert.deepEqual(await group.commit(), { status: 'committed' })
        assertMatches(await store.operators.findEvent(eventId), { state: 'done' })
      },
    },

    {
      name: 'a beat tells of the events that died since the last one',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await recordOne(store, anEventDraft({ key: 'fine' }))
        await runOne(store, done)
        await recordOne(store, anEventDraft())
        const { now } = await other.events.beat(undefined)

        const eventId = await runOne(store, dead)

        assert.deepEqual((await other.events.beat(now)).died, [eventId])
      },
    },

    // The time of a death is taken before its commit, which a slow disk may hold up.
    {
      name: 'a beat looks back a minute beyond the last one',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        const eventId = await runOne(store, dead)
        const { now } = await store.events.beat(undefined)
        const later = (ms: number) => store.events.beat(new Date(now.getTime() + ms))

        assert.deepEqual((await later(30_000)).died, [eventId])
        assert.deepEqual((await later(61_000)).died, [])
      },
    },

    {
      name: 'a store that is closed refuses, and can be closed again',
      run: async (open) => {
        const { newStore } = await open()
        const closed = newStore()
        await closed.open()
        await closed.close()

        await assert.rejects(recordOne(closed, anEventDraft()), {
          code: 'STORE_UNAVAILABLE',
        })
        await closed.close()
      },
    },

    {
      name: 'upkeep and signals are safe to call at any time',
      run: async (open) => {
        const { store } = await open()
        const stop = await store.queue.listen(() => {})

        await store.queue.notify()
        await store.maintain()
        await stop()

        assertMatches(await recordOne(store, anEventDraft()), { status: 'accepted' })
      },
    },
  ]),
]

/** Every page, until there is nothing on it. */
async function walkPages<Entry extends { readonly id: string }>(
  list: (below: string | undefined) => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (;;) {
    const page = await list(all.at(-1)?.id)
    if (page.length === 0) return all
    all.push(...page)
  }
}

const UNKNOWN = '00000000-0000-7000-8000-000000000000'
