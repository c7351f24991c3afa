import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { UNKNOWN_CONTENT } from '../../../model/digest.ts'
import { anEventDraft } from '../steps/builders.ts'
import type { EventDraftInput } from '../steps/builders.ts'
import { dead, DEADLINE_MS, done, nextDueInMs, recordOne, runOne } from '../steps/store-steps.ts'

/** What a sender signed once: drafts of the same delivery have the same content hash. */
const SIGNED = { sameBytes: 'quarantine', contentHash: 'd'.repeat(32) } as const

/** What a retry that is signed anew has in its place. */
const AGAIN = { contentHash: 'e'.repeat(32) }

const signed = (input: EventDraftInput = {}) =>
  anEventDraft({ key: 'a', body: '{"amount":1}', ...SIGNED, ...input })

const forged = (key = 'b', input: EventDraftInput = {}) =>
  anEventDraft({ key, body: '{"amount":2}', ...SIGNED, ...input })

const REASON = 'outside the time window'

const late = (input: EventDraftInput = {}) =>
  anEventDraft({ quarantine: REASON, redelivery: 'count', ...input })

export const recordSignedCases: readonly StoreCase[] = [
  ...casesOf('record, one signed delivery and other content', [
    {
      name: 'R55: is kept as a conflict under its new key, and never runs',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, signed())

        const conflict = await recordOne(store, forged())

        assert.equal(conflict.status, 'conflict')
        assertMatches(await store.operators.findEvent(conflict.eventId), {
          state: 'conflict',
          reason: 'same signature, other content',
        })
        assert.deepEqual(await recordOne(store, forged()), {
          status: 'duplicate',
          eventId: conflict.eventId,
        })
        await runOne(store, done)
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'R55: does not take the key from the event that it belongs to',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, signed())
        await recordOne(store, forged())

        const genuine = anEventDraft({ key: 'b', body: '{"amount":3}' })

        assertMatches(await recordOne(store, genuine), { status: 'accepted' })
        assertMatches(await recordOne(store, genuine), { status: 'duplicate' })
      },
    },

    {
      name: 'R55: is a conflict within one batch, however many',
      run: async (open) => {
        const { store } = await open()

        const recorded = await store.events.record([signed(), forged('b'), forged('c')], {
          deadlineMs: DEADLINE_MS,
        })

        assert.deepEqual(
          recorded.map(({ status }) => status),
          ['accepted', 'conflict', 'conflict'],
        )
      },
    },

    {
      name: 'R55: is a conflict for one of two stores that record at once',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()

        const results = await Promise.all([recordOne(store, signed()), recordOne(other, forged())])

        assert.deepEqual(results.map(({ status }) => status).sort(), ['accepted', 'conflict'])
      },
    },
  ]),

  ...casesOf('record, an event that was signed more than once', [
    {
      name: 'R55: is known by each of its signatures, and none of them is good for another event',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, signed())

        const retried = await recordOne(store, signed(AGAIN))

        assert.deepEqual(retried, { status: 'duplicate', eventId })
        assertMatches(await recordOne(store, forged('b', AGAIN)), { status: 'conflict' })
        assertMatches(await recordOne(store, signed({ ...AGAIN, key: 'c' })), {
          status: 'quarantined',
          reason: 'same bytes under another key',
        })
        await runOne(store, done)
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'R55: is one event within one batch, and known by each of its signatures',
      run: async (open) => {
        const { store } = await open()

        const [first, second] = await store.events.record([signed(), signed(AGAIN)], {
          deadlineMs: DEADLINE_MS,
        })

        assert.deepEqual(second, { status: 'duplicate', eventId: first?.eventId })
        assertMatches(await recordOne(store, forged('b', AGAIN)), { status: 'conflict' })
        assert.equal(await store.operators.countEvents(), 2)
      },
    },

    {
      name: "R55: within one batch is the event that one of its signatures is known of, under 'duplicate'",
      run: async (open) => {
        const { store } = await open()
        const renamed = (input: EventDraftInput) =>
          signed({ key: 'b', sameBytes: 'duplicate', ...input })
        const { eventId } = await recordOne(store, signed())

        const recorded = await store.events.record([renamed({}), renamed(AGAIN)], {
          deadlineMs: DEADLINE_MS,
        })

        const duplicate = { status: 'duplicate', eventId }
        assert.deepEqual(recorded, [duplicate, duplicate])
        assert.deepEqual(await recordOne(store, renamed({ ...AGAIN, key: 'c' })), duplicate)
        assert.equal(await store.operators.countEvents(), 1)
      },
    },

    {
      name: 'R55: as a conflict is known by each of its signatures as well',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, signed({ key: 'a' }))
        const other = (contentHash: string) => forged('a', { contentHash })
        const { eventId } = await recordOne(store, other('e'.repeat(32)))

        const again = await recordOne(store, other('f'.repeat(32)))

        assert.deepEqual(again, { status: 'duplicate', eventId })
        const third = anEventDraft({ ...SIGNED, key: 'c', body: '3', contentHash: 'f'.repeat(32) })
        assertMatches(await recordOne(store, third), { status: 'conflict' })
      },
    },

    {
      name: 'R55: of which no delivery had come yet, is known by the bytes of the first that comes',
      run: async (open) => {
        const { store } = await open()
        const given = anEventDraft({ key: 'a', body: 'written anew', fingerprint: UNKNOWN_CONTENT })
        const { eventId } = await recordOne(store, given)
        const delivered = anEventDraft({ key: 'a', sameBytes: 'quarantine' })
        assert.deepEqual(await recordOne(store, delivered), { status: 'duplicate', eventId })

        const captured = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'quarantine' }))

        assertMatches(captured, { status: 'quarantined', reason: 'same bytes under another key' })
      },
    },
  ]),

  ...casesOf('record, signed and outside the time window', [
    {
      name: 'R54: is quarantined with its reason, and known when it comes again',
      run: async (open) => {
        const { store } = await open()

        const first = await recordOne(store, late())

        assertMatches(first, { status: 'quarantined', reason: REASON })
        assertMatches(await store.operators.findEvent(first.eventId), {
          key: 'evt_1',
          state: 'quarantined',
          reason: REASON,
        })
        assert.deepEqual(await recordOne(store, late()), {
          status: 'duplicate',
          eventId: first.eventId,
        })
        assert.equal(await nextDueInMs(store), undefined)
        assert.equal(await store.operators.countEvents(), 1)
      },
    },

    {
      name: 'R54: does not stand in the way of the same event within the window',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, late())

        const prompt = await recordOne(store, anEventDraft())

        assert.equal(prompt.status, 'accepted')
        assert.deepEqual(await recordOne(store, late()), {
          status: 'duplicate',
          eventId: prompt.eventId,
        })
      },
    },

    {
      name: 'R54: is a duplicate of what is known, and with other content a conflict',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())

        assert.deepEqual(await recordOne(store, late()), { status: 'duplicate', eventId })
        assertMatches(await recordOne(store, late({ body: 'other' })), { status: 'conflict' })
        assertMatches(await store.operators.findEvent(eventId), { state: 'ready' })
      },
    },

    {
      name: 'R54: is a conflict where the delivery was signed for other content',
      run: async (open) => {
        const { store } = await open()
        const policy = { sameBytes: 'quarantine', contentHash: 'd'.repeat(32) } as const

        const statuses = [
          await recordOne(store, late({ key: 'a', body: '1', ...policy })),
          await recordOne(store, late({ key: 'b', body: '2', ...policy })),
          await recordOne(store, late({ key: 'c', body: '3', ...policy })),
        ].map(({ status }) => status)

        assert.deepEqual(statuses, ['quarantined', 'conflict', 'conflict'])
      },
    },

    {
      name: 'R54: travels in one batch with others, each with its own answer',
      run: async (open) => {
        const { store } = await open()

        const recorded = await store.events.record(
          [late({ key: 'a' }), anEventDraft({ key: 'b' }), late({ key: 'b', body: 'other' })],
          { deadlineMs: DEADLINE_MS },
        )

        assert.deepEqual(
          recorded.map(({ status }) => status),
          ['quarantined', 'accepted', 'conflict'],
        )
        const states = await Promise.all(
          recorded.map(({ eventId }) => store.operators.findEvent(eventId)),
        )
        assert.deepEqual(
          states.map((event) => event?.state),
          ['quarantined', 'ready', 'conflict'],
        )
      },
    },

    {
      name: 'R54: leaves a dead event dead',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, dead)

        assert.deepEqual(await recordOne(store, late()), { status: 'duplicate', eventId })

        assertMatches(await store.operators.findEvent(eventId), { state: 'dead' })
      },
    },
  ]),
]
