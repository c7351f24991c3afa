import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { ACTION_RULES, EVENT_ACTIONS, refusalOf } from '../../../model/event-action.ts'
import { EVENT_STATES } from '../../../model/event-state.ts'
import { aClaim, anEventDraft } from '../steps/builders.ts'
import { act, claim, done, recordOne, retryIn, runOne } from '../steps/store-steps.ts'
import { REACH } from '../steps/reach-state.ts'

export const eventActionCases: readonly StoreCase[] = [
  ...casesOf('actions on events', [
    ...EVENT_STATES.flatMap((state) => EVENT_ACTIONS.map((action) => [action, state] as const)).map(
      ([action, state]): StoreCase => ({
        name: `${action} does with an event that is ${state} what the table says`,
        run: async (open) => {
          const { store } = await open()
          const eventId = await REACH[state](store)
          const becomes = ACTION_RULES[action][state]
          const before = await store.operators.listAudit({ limit: 10 })

          const acted = await act(store, action, eventId)

          const found = await store.operators.findEvent(eventId)
          const after = await store.operators.listAudit({ limit: 10 })
          const audit = after.slice(0, after.length - before.length)
          if (becomes === undefined || (action === 'retry' && state === 'ready')) {
            assert.deepEqual(acted, { status: 'refused', code: refusalOf(state) })
            assert.equal(found?.state, state)
            assert.deepEqual(audit, [])
          } else {
            const run = action === 'replay' ? 1 : 0
            assert.deepEqual(acted, { status: 'done', run, state: becomes })
            assert.equal(found?.state, becomes)
            assertMatches(audit, [{ action, outcome: { run, state: becomes } }])
          }
        },
      }),
    ),

    {
      name: 'an event that is not here is refused, and nothing is written',
      run: async (open) => {
        const { store } = await open()

        for (const action of EVENT_ACTIONS)
          assertMatches(await act(store, action, UNKNOWN), { code: 'EVENT_UNKNOWN' })

        assert.deepEqual(await store.operators.listAudit({ limit: 10 }), [])
      },
    },

    {
      name: 'the audit says who did what to which event, and why',
      run: async (open) => {
        const { store } = await open()
        const eventId = await REACH.dead(store)
        const order = { actor: 'ada', reason: 'the carrier is back\0', token: 'click-1' }

        await act(store, 'retry', eventId, order)
        await act(store, 'discard', eventId, { actor: 'bo', reason: 'twice' })

        const ofEvent = { kind: 'event', id: eventId } as const
        assertMatches(await store.operators.listAudit({ subject: ofEvent, limit: 10 }), [
          { action: 'discard', subject: ofEvent, actor: 'bo', reason: 'twice', token: undefined },
          {
            action: 'retry',
            subject: ofEvent,
            actor: 'ada',
            reason: 'the carrier is back\ufffd',
            token: 'click-1',
            outcome: { status: 'done', run: 0, state: 'ready' },
          },
        ])
        const ofAnother = { kind: 'event', id: UNKNOWN } as const
        assert.deepEqual(await store.operators.listAudit({ subject: ofAnother, limit: 10 }), [])
      },
    },

    {
      name: 'Y02: a token makes a hundred calls at once one run, and all are told the same',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const eventId = await REACH.done(store)

        const calls = Array.from({ length: 100 }, (_, n) =>
          act(n % 2 === 0 ? store : other, 'replay', eventId, { token: 'click' }),
        )
        const acted = await Promise.all(calls)

        assert.deepEqual(
          acted,
          acted.map(() => ({ status: 'done', run: 1, state: 'ready' })),
        )
        assert.equal((await store.operators.listRuns(eventId)).length, 1)
        await runOne(store, done)
        assertMatches(await act(other, 'replay', eventId, { token: 'click' }), { run: 1 })
        assertMatches(await store.operators.findEvent(eventId), { state: 'done' })
      },
    },

    {
      name: 'a token that is used at once for two events stands for one of them',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const [one, two] = [await REACH.done(store, 'a'), await REACH.done(store, 'b')]

        const acted = await Promise.all([
          act(store, 'replay', one, { token: 'click' }),
          act(other, 'replay', two, { token: 'click' }),
        ])

        assert.deepEqual(acted.map((each) => ('code' in each ? each.code : each.status)).sort(), [
          'TOKEN_USED',
          'done',
        ])
        assert.equal((await store.operators.listAudit({ limit: 10 })).length, 1)
      },
    },

    {
      name: 'an event that waits for its next attempt is due at once when it is retried',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        const eventId = await runOne(store, retryIn(3_600_000))
        assert.equal(await store.queue.claim(aClaim({ kind: 'again' })), undefined)

        assertMatches(await act(store, 'retry', eventId), { status: 'done', state: 'ready' })

        const group = await claim(store, { kind: 'again' })
        assertMatches(group.events, [{ eventId, attempt: 2 }])
        await group.abandon()
      },
    },

    {
      name: 'a discarded event says why, keeps its failures, and its redelivery is a duplicate',
      run: async (open) => {
        const { store } = await open()
        const eventId = await REACH.dead(store)

        await act(store, 'discard', eventId, { reason: 'no such customer' })

        assert.deepEqual(await recordOne(store, anEventDraft()), { status: 'duplicate', eventId })
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'discarded',
          reason: 'no such customer',
          failures: [{ attempt: 1 }],
        })
      },
    },

    {
      name: 'a forgotten dead event is discarded, and its redelivery is a new event',
      run: async (open) => {
        const { store } = await open()
        const eventId = await REACH.dead(store)

        await act(store, 'forget', eventId)

        const again = await recordOne(store, anEventDraft())
        assert.equal(again.status, 'accepted')
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'discarded',
          reason: 'forgotten',
        })
        assertMatches(await act(store, 'forget', eventId), { code: 'KEY_UNKNOWN' })
      },
    },
  ]),
]

const UNKNOWN = '00000000-0000-7000-8000-000000000000'
