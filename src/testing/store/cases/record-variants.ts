import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import { dead, DEADLINE_MS, done, nextDueInMs, recordOne, runOne } from '../steps/store-steps.ts'

const original = () => anEventDraft({ body: '{"amount":1}' })

const changed = () => anEventDraft({ body: '{"amount":2}' })

export const recordVariantCases: readonly StoreCase[] = [
  ...casesOf('record, same key and other content', [
    {
      name: 'is kept beside the first as a conflict, and never runs',
      run: async (open) => {
        const { store } = await open()
        const first = await recordOne(store, original())

        const second = await recordOne(store, changed())

        assert.equal(second.status, 'conflict')
        assert.notEqual(second.eventId, first.eventId)
        const kept = await store.operators.listEventsByKey('stripe', 'evt_1')
        assert.deepEqual(
          kept.map(({ id, state }) => [id, state]),
          [
            [first.eventId, 'ready'],
            [second.eventId, 'conflict'],
          ],
        )
        await runOne(store, done)
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'is a conflict within one batch',
      run: async (open) => {
        const { store } = await open()

        const recorded = await store.events.record([original(), changed()], {
          deadlineMs: DEADLINE_MS,
        })

        assert.deepEqual(
          recorded.map(({ status }) => status),
          ['accepted', 'conflict'],
        )
        assert.equal(await store.operators.countEvents(), 2)
      },
    },

    {
      name: 'is a conflict for one of two stores that record at once',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()

        const results = await Promise.all([
          recordOne(store, original()),
          recordOne(other, changed()),
        ])

        assert.deepEqual(results.map(({ status }) => status).sort(), ['accepted', 'conflict'])
      },
    },

    {
      name: 'is a duplicate of the conflict when it is delivered again',
      run: async (open) => {
        const { store, second } = await open()
        await recordOne(store, original())
        const conflict = await recordOne(store, changed())

        assert.deepEqual(await recordOne(store, changed()), {
          status: 'duplicate',
          eventId: conflict.eventId,
        })
        assertMatches(await recordOne(await second(), changed()), { status: 'duplicate' })
        assert.equal(await store.operators.countEvents(), 2)
      },
    },

    {
      name: 'leaves the first to be known as before',
      run: async (open) => {
        const { store } = await open()
        const first = await recordOne(store, original())
        await recordOne(store, changed())

        assert.deepEqual(await recordOne(store, original()), {
          status: 'duplicate',
          eventId: first.eventId,
        })
      },
    },
  ]),

  ...casesOf('record, same bytes and another key', [
    {
      name: "runs as an event of its own under 'run'",
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'run' }))

        assertMatches(await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'run' })), {
          status: 'accepted',
        })
      },
    },

    {
      name: "is quarantined under 'quarantine', and known when it comes again",
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'quarantine' }))

        const captured = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'quarantine' }))

        assertMatches(captured, {
          status: 'quarantined',
          reason: 'same bytes under another key',
        })
        assertMatches(await store.operators.findEvent(captured.eventId), {
          state: 'quarantined',
          reason: 'same bytes under another key',
        })
        assert.deepEqual(
          await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'quarantine' })),
          {
            status: 'duplicate',
            eventId: captured.eventId,
          },
        )
      },
    },

    {
      name: "is the first event under 'duplicate', and so is its redelivery",
      run: async (open) => {
        const { store } = await open()
        const first = await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'duplicate' }))

        const renamed = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'duplicate' }))
        const again = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'duplicate' }))

        assert.deepEqual(renamed, { status: 'duplicate', eventId: first.eventId })
        assert.deepEqual(again, { status: 'duplicate', eventId: first.eventId })
        assert.equal(await store.operators.countEvents(), 1)
      },
    },

    {
      name: "under 'duplicate' revives a first event that is dead, as its own redelivery would",
      run: async (open) => {
        const { store } = await open()
        const policy = { sameBytes: 'duplicate', redelivery: 'retry' } as const
        const { eventId } = await recordOne(store, anEventDraft({ key: 'a', ...policy }))
        await runOne(store, dead)

        const renamed = await recordOne(store, anEventDraft({ key: 'b', ...policy }))

        assert.deepEqual(renamed, { status: 'revived', eventId })
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          attempts: 0,
        })
        assert.deepEqual(await recordOne(store, anEventDraft({ key: 'b', ...policy })), {
          status: 'duplicate',
          eventId,
        })
      },
    },

    {
      name: "under 'duplicate' leaves a first event that is dead as it is under 'count'",
      run: async (open) => {
        const { store } = await open()
        const policy = { sameBytes: 'duplicate', redelivery: 'count' } as const
        const { eventId } = await recordOne(store, anEventDraft({ key: 'a', ...policy }))
        await runOne(store, dead)

        const renamed = await recordOne(store, anEventDraft({ key: 'b', ...policy }))

        assert.deepEqual(renamed, { status: 'duplicate', eventId })
        assertMatches(await store.operators.findEvent(eventId), { state: 'dead' })
      },
    },

    {
      name: "under 'duplicate' makes its key known, so that other content under it is a conflict",
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'duplicate' }))
        await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'duplicate' }))

        const other = anEventDraft({ key: 'b', sameBytes: 'duplicate', body: 'other' })

        assertMatches(await recordOne(store, other), { status: 'conflict' })
      },
    },

    {
      name: 'is noticed within one batch',
      run: async (open) => {
        const { store } = await open()
        const policies = ['quarantine', 'duplicate'] as const

        for (const policy of policies) {
          const recorded = await store.events.record(
            ['a', 'b'].map((key) => anEventDraft({ source: policy, key, sameBytes: policy })),
            { deadlineMs: DEADLINE_MS },
          )
          const second = policy === 'quarantine' ? 'quarantined' : 'duplicate'
          assert.deepEqual(
            recorded.map(({ status }) => status),
            ['accepted', second],
          )
        }
      },
    },

    {
      name: 'is noticed by one of two stores that record at once',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()

        const results = await Promise.all([
          recordOne(store, anEventDraft({ key: 'a', sameBytes: 'quarantine' })),
          recordOne(other, anEventDraft({ key: 'b', sameBytes: 'quarantine' })),
        ])

        assert.deepEqual(results.map(({ status }) => status).sort(), ['accepted', 'quarantined'])
      },
    },

    {
      name: 'an event without a key is quarantined, and its redelivery is a duplicate',
      run: async (open) => {
        const { store } = await open()

        const first = await recordOne(store, anEventDraft({ key: undefined }))

        assertMatches(first, { status: 'quarantined', reason: 'no key' })
        assertMatches(await store.operators.findEvent(first.eventId), {
          key: undefined,
          state: 'quarantined',
          reason: 'no key',
        })
        assert.deepEqual(await recordOne(store, anEventDraft({ key: undefined })), {
          status: 'duplicate',
          eventId: first.eventId,
        })
        assert.equal(await nextDueInMs(store), undefined)
      },
    },
  ]),
]
