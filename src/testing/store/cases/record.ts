import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import { claim, dead, DEADLINE_MS, done, recordOne, runOne } from '../steps/store-steps.ts'

export const recordCases: readonly StoreCase[] = [
  ...casesOf('record', [
    {
      name: 'the first delivery of an event makes an event',
      run: async (open) => {
        const { store } = await open()

        const recorded = await recordOne(store, anEventDraft({ key: 'evt_1' }))

        assert.equal(recorded.status, 'accepted')
        assert.equal(await store.operators.countEvents('stripe'), 1)
        assertMatches(await store.operators.findEvent(recorded.eventId), {
          key: 'evt_1',
          state: 'ready',
        })
      },
    },

    {
      name: 'twenty deliveries of one event at once make one event',
      run: async (open) => {
        const { store } = await open()
        const draft = anEventDraft()

        const results = await Promise.all(Array.from({ length: 20 }, () => recordOne(store, draft)))

        assert.equal(results.filter(({ status }) => status === 'accepted').length, 1)
        assert.equal(results.filter(({ status }) => status === 'duplicate').length, 19)
        assert.equal(new Set(results.map(({ eventId }) => eventId)).size, 1)
        assert.equal(await store.operators.countEvents(), 1)
      },
    },

    {
      name: 'the same delivery at two stores at once makes one event',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()

        for (let round = 0; round < 10; round += 1) {
          const draft = anEventDraft({ key: `evt_${round}` })
          const results = await Promise.all([recordOne(store, draft), recordOne(other, draft)])
          assert.deepEqual(results.map(({ status }) => status).sort(), ['accepted', 'duplicate'])
        }
        assert.equal(await store.operators.countEvents(), 10)
      },
    },

    {
      name: 'the same key from two sources makes two events',
      run: async (open) => {
        const { store } = await open()

        const first = await recordOne(store, anEventDraft({ source: 'stripe', key: '1' }))
        const second = await recordOne(store, anEventDraft({ source: 'github', key: '1' }))

        assert.deepEqual([first.status, second.status], ['accepted', 'accepted'])
        assert.equal(await store.operators.countEvents('github'), 1)
      },
    },

    {
      name: 'a batch is answered in its order, whatever becomes of each draft',
      run: async (open) => {
        const { store } = await open()
        const known = await recordOne(store, anEventDraft({ key: 'known' }))
        const keys = ['z', 'known', 'a', 'm']

        const recorded = await store.events.record(
          keys.map((key) => anEventDraft({ key })),
          { deadlineMs: DEADLINE_MS },
        )

        assert.deepEqual(
          recorded.map(({ status }) => status),
          ['accepted', 'duplicate', 'accepted', 'accepted'],
        )
        assert.equal(recorded[1]?.eventId, known.eventId)
        const events = await Promise.all(
          recorded.map(({ eventId }) => store.operators.findEvent(eventId)),
        )
        assert.deepEqual(
          events.map((event) => event?.key),
          keys,
        )
      },
    },

    {
      name: 'an empty batch has no answers',
      run: async (open) => {
        const { store } = await open()

        assert.deepEqual(await store.events.record([], { deadlineMs: DEADLINE_MS }), [])
      },
    },

    // The sender must not wait for as long as a handler runs to hear that we have the event.
    {
      name: 'a duplicate is answered while a group holds the event',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const first = await recordOne(store, anEventDraft())
        const group = await claim(store)
        await group.settle(group.events.map(done))

        const again = await recordOne(store, anEventDraft())
        const elsewhere = await recordOne(other, anEventDraft())

        assert.deepEqual(again, { status: 'duplicate', eventId: first.eventId })
        assert.deepEqual(elsewhere, { status: 'duplicate', eventId: first.eventId })
        assert.deepEqual(await group.commit(), { status: 'committed' })
      },
    },

    {
      name: 'a redelivery of an event that is done is a duplicate',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, done)

        assert.deepEqual(await recordOne(store, anEventDraft()), { status: 'duplicate', eventId })
        assertMatches(await store.operators.findEvent(eventId), { state: 'done' })
      },
    },
    {
      name: 'a new event is stored while a group is open',
      needs: 'many writers',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'held' }))
        const group = await claim(store)

        assertMatches(await recordOne(store, anEventDraft({ key: 'new' })), { status: 'accepted' })

        await group.abandon()
      },
    },

    {
      name: 'a new event that cannot wait for the open group is refused, and is not stored later',
      needs: 'one writer',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'held' }))
        const group = await claim(store)
        const fresh = anEventDraft({ key: 'new' })

        await assert.rejects(store.events.record([fresh], { deadlineMs: 1 }), {
          code: 'STORE_UNAVAILABLE',
        })

        await group.abandon()
        assertMatches(await recordOne(store, fresh), { status: 'accepted' })
      },
    },
  ]),

  ...casesOf('record, a dead event delivered again', [
    {
      name: "is queued again under 'retry', with its attempts at zero",
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, dead)

        const again = await recordOne(store, anEventDraft({ redelivery: 'retry' }))

        assert.deepEqual(again, { status: 'revived', eventId })
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          attempts: 0,
          outcome: undefined,
        })
        assertMatches((await claim(store)).events, [{ eventId, attempt: 1 }])
      },
    },

    {
      name: 'is revived by one of many deliveries at once',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await recordOne(store, anEventDraft())
        await runOne(store, dead)

        const results = await Promise.all(
          [store, other, store, other].map((s) => recordOne(s, anEventDraft())),
        )

        assert.deepEqual(results.map(({ status }) => status).sort(), [
          'duplicate',
          'duplicate',
          'duplicate',
          'revived',
        ])
      },
    },

    {
      name: "stays dead under 'count'",
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, dead)

        assert.deepEqual(await recordOne(store, anEventDraft({ redelivery: 'count' })), {
          status: 'duplicate',
          eventId,
        })
        assertMatches(await store.operators.findEvent(eventId), { state: 'dead' })
      },
    },
  ]),
]
