import assert from 'node:assert/strict'
import { assertMatches, assertAbove, required } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase, OpenStore } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import {
  claim,
  dead,
  done,
  nextDueInMs,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../steps/store-steps.ts'

async function openWithEvent(open: OpenStore) {
  const opened = await open()
  const { eventId } = await recordOne(opened.store, anEventDraft())
  return { ...opened, eventId }
}

async function openWithLost(open: OpenStore) {
  const { store } = await open()
  const { eventId } = await recordOne(store, anEventDraft())
  const group = await claim(store)
  await group.abandon()
  return { store, eventId, event: required(group.events[0]) }
}

export const settleCases: readonly StoreCase[] = [
  ...casesOf('settle', [
    {
      name: 'an event on its way has no outcome',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)

        assert.deepEqual(await store.events.findOutcome(eventId), {
          outcome: undefined,
          attempts: 0,
          parked: undefined,
        })
        assert.equal(
          await store.events.findOutcome('00000000-0000-7000-8000-000000000000'),
          undefined,
        )
      },
    },

    {
      name: 'done keeps the result',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)

        await runOne(store, done)

        const view = await store.events.findOutcome(eventId)
        assertMatches(view?.outcome, {
          state: 'done',
          attempts: 1,
          durationMs: 5,
          result: '{"ok":true}',
        })
        assert.ok(view?.outcome?.settledAt instanceof Date)
        assert.equal(view?.parked, undefined)
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'done',
          attempts: 1,
          nextRunAt: undefined,
          failures: [],
        })
      },
    },

    {
      name: 'skipped keeps the reason',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)

        await runOne(store, skipped)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'skipped',
          reason: 'not ours',
          outcome: { state: 'skipped', reason: 'not ours', result: undefined },
        })
      },
    },

    {
      name: 'dead keeps the reason and the failure',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)

        await runOne(store, dead)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'dead',
          reason: 'gave up',
          outcome: { state: 'dead', attempts: 1 },
          failures: [{ attempt: 1, reason: 'error', message: 'Error: no luck', durationMs: 5 }],
        })
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'ready counts the failed attempt and runs again later',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)

        await runOne(store, retryIn(0))
        await runOne(store, retryIn(3_600_000), { kind: 'again' })

        assert.deepEqual(await store.events.findOutcome(eventId), {
          outcome: undefined,
          attempts: 2,
          parked: undefined,
        })
        const event = await store.operators.findEvent(eventId)
        assertMatches(event, {
          state: 'ready',
          attempts: 2,
          failures: [{ attempt: 1 }, { attempt: 2 }],
        })
        assertAbove(event?.nextRunAt?.getTime(), Date.now())
      },
    },

    {
      name: 'unhandled parks the event without an attempt',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)

        await runOne(store, unhandled)

        assert.deepEqual(await store.events.findOutcome(eventId), {
          outcome: undefined,
          attempts: 0,
          parked: 'unhandled',
        })
        assertMatches(await store.operators.findEvent(eventId), {
          state: 'unhandled',
          attempts: 0,
        })
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'the events of one group may end differently',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['a', 'b', 'c', 'd', 'e']) await recordOne(store, anEventDraft({ key }))
        const group = await claim(store)
        const ends = [done, skipped, dead, retryIn(60_000), unhandled]

        await group.settle(group.events.map((event, index) => (ends[index] ?? done)(event)))
        await group.commit()

        const states = await Promise.all(
          group.events.map(({ eventId }) => store.operators.findEvent(eventId)),
        )
        assert.deepEqual(
          states.map((event) => event?.state),
          ['done', 'skipped', 'dead', 'ready', 'unhandled'],
        )
      },
    },

    {
      name: 'settling what is not in the queue as it was claimed is refused, and nothing of it is kept',
      run: async (open) => {
        const { store, eventId } = await openWithEvent(open)
        const group = await claim(store)
        const [event] = group.events

        await assert.rejects(group.settle([done({ ...required(event), attempt: 7 })]), {
          code: 'TRANSACTION_ENDED',
        })
        await group.abandon()

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          outcome: undefined,
        })
      },
    },

    {
      name: 'settling an event twice in one group is refused',
      run: async (open) => {
        const { store } = await openWithEvent(open)
        const group = await claim(store)
        await group.settle(group.events.map(done))

        await assert.rejects(group.settle(group.events.map(done)), {
          code: 'TRANSACTION_ENDED',
        })

        await group.abandon()
      },
    },
  ]),

  ...casesOf('settle after the transaction is lost', [
    {
      name: 'a failed attempt is counted',
      run: async (open) => {
        const { store, eventId, event } = await openWithLost(open)

        assert.equal(await store.queue.settleLost(retryIn(60_000)(event)), true)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          attempts: 1,
          failures: [{ attempt: 1 }],
        })
      },
    },

    {
      name: 'the last failed attempt makes it dead',
      run: async (open) => {
        const { store, eventId, event } = await openWithLost(open)

        assert.equal(await store.queue.settleLost(dead(event)), true)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'dead',
          failures: [{ attempt: 1 }],
        })
      },
    },

    {
      name: 'an attempt is counted once',
      run: async (open) => {
        const { store, eventId, event } = await openWithLost(open)
        await store.queue.settleLost(retryIn(0)(event))

        assert.equal(await store.queue.settleLost(dead(event)), false)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'ready',
          attempts: 1,
          failures: [{ attempt: 1 }],
        })
      },
    },

    {
      name: 'an event that was parked meanwhile is left alone',
      run: async (open) => {
        const { store, eventId, event } = await openWithLost(open)
        await runOne(store, unhandled)

        assert.equal(await store.queue.settleLost(retryIn(0)(event)), false)
        assert.equal(await store.queue.settleLost(dead(event)), false)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'unhandled',
          failures: [],
        })
      },
    },

    {
      name: 'an event that was settled meanwhile is left alone',
      run: async (open) => {
        const { store, eventId, event } = await openWithLost(open)
        await runOne(store, done)

        assert.equal(await store.queue.settleLost(retryIn(0)(event)), false)
        assert.equal(await store.queue.settleLost(dead(event)), false)

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'done',
          failures: [],
        })
      },
    },
  ]),
]
