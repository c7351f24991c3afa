import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase, OpenStore } from '../store-case.ts'
import type { EventId } from '../../../model/event.ts'
import type { Settlement } from '../../../model/outcome.ts'
import { topicOf } from '../../../model/topic.ts'
import type { ClaimedEvent } from '../../../store/contract/claimed-event.ts'
import { aClaim, anEventDraft, DRAFTED, NAMED } from '../steps/builders.ts'
import {
  act,
  claim,
  dead,
  done,
  moveHeart,
  nextDueInMs,
  recordOne,
  retryIn,
  runOne,
  sweepOthers,
  unhandled,
} from '../steps/store-steps.ts'

async function openWithCrash(open: OpenStore) {
  const opened = await open()
  const { eventId } = await recordOne(opened.store, anEventDraft())
  await opened.store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])
  return { ...opened, eventId, other: await opened.second() }
}

/** What a slot lists may be there until it runs something else, and no later. */
function queuedAgain(
  how: string,
  ended: (event: ClaimedEvent) => Settlement,
  queueAgain: (other: AnyStore, eventId: EventId) => Promise<unknown>,
): StoreCase {
  return {
    name: `no crash is counted on an event that was ${how} after the dead worker had run it`,
    run: async (open) => {
      const { store, other, eventId } = await openWithCrash(open)
      await runOne(store, ended, { slot: CRASHED })
      await queueAgain(other, eventId)

      assert.deepEqual(await sweepOthers(other, { ...SWEEP, crashesMax: 1 }), [])

      assertMatches(await other.operators.findEvent(eventId), { state: 'ready', crashes: 0 })
      const group = await claim(other, { slot: LIVING })
      assertMatches(group.events, [{ eventId, attempt: 1, crashes: 0 }])
      await group.abandon()
    },
  }
}

export const crashCases: readonly StoreCase[] = [
  ...casesOf('crash sweep', [
    {
      name: 'an event that a worker is listed as running is not claimed by another, nor due',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)

        assert.equal(await other.queue.claim(aClaim({ slot: LIVING })), undefined)
        assert.equal(await store.queue.claim(aClaim({ slot: { ...CRASHED, slot: 1 } })), undefined)
        assertMatches(await other.operators.findEvent(eventId), { state: 'running' })
        // Counted as due, it would have idle slots ask again and again for as long as it runs.
        assert.equal(await nextDueInMs(other), undefined)
      },
    },

    {
      name: 'the slot that is listed may claim it again',
      run: async (open) => {
        const { store, eventId } = await openWithCrash(open)

        const group = await claim(store, { slot: CRASHED })

        assertMatches(group.events, [{ eventId }])
        await group.abandon()
      },
    },

    {
      name: 'an emptied list gives the event free',
      run: async (open) => {
        const { store, other, eventId } = await openWithCrash(open)

        await store.workers.announce(CRASHED, [])

        const group = await claim(other, { slot: LIVING })
        assertMatches(group.events, [{ eventId, crashes: 0 }])
        await group.abandon()
      },
    },

    {
      name: 'a list about an earlier attempt holds nothing back',
      run: async (open) => {
        const { store, second } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, retryIn(0))
        await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

        const group = await claim(await second(), { slot: LIVING, kind: 'again' })

        assertMatches(group.events, [{ eventId, attempt: 2 }])
        await group.abandon()
      },
    },

    {
      name: 'a sweep counts a crash on what a dead worker was running, and makes it a suspect',
      run: async (open) => {
        const { other, eventId } = await openWithCrash(open)

        const swept = await sweepOthers(other, SWEEP)

        assert.deepEqual(swept, [
          { eventId, ...NAMED, attempt: 1, crashes: 1, dead: false, workerId: CRASHED.workerId },
        ])
        assert.equal(await other.queue.claim(aClaim({ slot: LIVING, kind: 'fresh' })), undefined)
        const suspects = await claim(other, { slot: LIVING, kind: 'suspect' })
        assertMatches(suspects.events, [{ eventId, attempt: 1, crashes: 1 }])
        await suspects.abandon()
      },
    },

    {
      name: 'a crash is counted once',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)

        const counted = await Promise.all([
          sweepOthers(other, SWEEP),
          sweepOthers(store, { ...SWEEP, me: 'worker-3' }),
          sweepOthers(other, SWEEP),
        ])

        assert.equal(counted.flat().length, 1)
        assertMatches(await other.operators.findEvent(eventId), { state: 'ready', crashes: 1 })
      },
    },

    {
      name: 'suspects run alone, one at a time',
      run: async (open) => {
        const { store, second } = await open()
        const first = await recordOne(store, anEventDraft({ key: 'a' }))
        const next = await recordOne(store, anEventDraft({ key: 'b' }))
        await store.workers.announce(
          CRASHED,
          [first, next].map(({ eventId }) => ({ eventId, attempt: 1 })),
        )
        const other = await second()
        assert.equal((await sweepOthers(other, SWEEP)).length, 2)

        const group = await claim(other, { slot: LIVING, kind: 'suspect', limit: 10 })

        assert.equal(group.events.length, 1)
        await group.settle(group.events.map(done))
        await group.commit()
        assert.notEqual(
          await runOne(other, done, { slot: LIVING, kind: 'suspect' }),
          group.events[0]?.eventId,
        )
      },
    },

    {
      name: 'each crash is on record as a failure, and none counts as an attempt',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)
        const crash = { attempt: 1, reason: 'crashed' }

        await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

        assertMatches(await other.events.findOutcome(eventId), { attempts: 0 })
        assertMatches(await other.operators.findEvent(eventId), {
          state: 'ready',
          attempts: 0,
          crashes: 1,
          failures: [crash],
        })

        await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])
        await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

        assertMatches(await other.operators.findEvent(eventId), {
          state: 'dead',
          attempts: 0,
          outcome: { attempts: 0, reason: 'crashed' },
          failures: [crash, crash],
        })
      },
    },

    {
      name: 'a crash after a failed attempt leaves the count at the failed one',
      run: async (open) => {
        const { store, second } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, retryIn(0))
        await store.workers.announce(CRASHED, [{ eventId, attempt: 2 }])
        const other = await second()

        await sweepOthers(other, { ...SWEEP, crashesMax: 1 })

        assertMatches(await other.operators.findEvent(eventId), {
          state: 'dead',
          attempts: 1,
          outcome: { attempts: 1, reason: 'crashed' },
          failures: [
            { attempt: 1, reason: 'error' },
            { attempt: 2, reason: 'crashed' },
          ],
        })
      },
    },

    {
      name: 'an event that several dead workers were running has crashed once',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)
        await store.workers.announce(CRASHED_NEXT, [{ eventId, attempt: 1 }])

        const swept = await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

        assertMatches(swept, [{ eventId, attempt: 1, crashes: 1, dead: false }])
        assertMatches(await other.operators.findEvent(eventId), { state: 'ready', crashes: 1 })
        assert.deepEqual(await sweepOthers(other, SWEEP), [])
      },
    },

    {
      name: 'what a dead worker has left listed of a later attempt hides no crash of this one',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)
        await store.workers.announce(CRASHED_NEXT, [{ eventId, attempt: 3 }])

        const swept = await sweepOthers(other, SWEEP)

        assertMatches(swept, [{ eventId, attempt: 1, crashes: 1, workerId: CRASHED.workerId }])
        assertMatches(await other.operators.findEvent(eventId), { state: 'ready', crashes: 1 })
      },
    },

    queuedAgain('retried', dead, (other, eventId) => act(other, 'retry', eventId)),
    queuedAgain('replayed', done, (other, eventId) => act(other, 'replay', eventId)),
    queuedAgain('revived', dead, (other) => recordOne(other, anEventDraft())),
    queuedAgain('woken', unhandled, (other) =>
      other.queue.wakeUnhandled([topicOf(...DRAFTED)], 10),
    ),

    {
      name: 'an event that crashed its worker too often is dead',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)
        await sweepOthers(other, { ...SWEEP, crashesMax: 2 })
        await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

        const swept = await sweepOthers(other, { ...SWEEP, crashesMax: 2 })

        assert.deepEqual(swept, [
          { eventId, ...NAMED, attempt: 1, crashes: 2, dead: true, workerId: CRASHED.workerId },
        ])
        assertMatches(await other.operators.findEvent(eventId), {
          state: 'dead',
          reason: 'crashed',
          outcome: { state: 'dead', reason: 'crashed' },
        })
        assertMatches((await other.operators.findEvent(eventId))?.failures.at(-1), {
          reason: 'crashed',
        })
        assert.equal(await nextDueInMs(other), undefined)
      },
    },

    {
      name: 'a worker whose heart beats is left alone',
      run: async (open) => {
        const { other, store, eventId } = await openWithCrash(open)
        const stopped = await other.workers.listHearts()
        await moveHeart(store, CRASHED.workerId)

        assert.deepEqual(await other.workers.sweep({ stopped, crashesMax: 3 }), [])
        assertMatches(await other.operators.findEvent(eventId), { state: 'running' })
      },
    },

    {
      name: 'a heart stands elsewhere after every beat, and where it stood without one',
      run: async (open) => {
        const { store, other } = await openWithCrash(open)
        await store.workers.beat({ workerId: CRASHED.workerId, slots: 2, handles: [] })
        const [first] = await other.workers.listHearts()
        assertMatches(first, { workerId: CRASHED.workerId, isGone: false })
        const [again, ...others] = await other.workers.listHearts()
        assert.equal(again?.beat, first?.beat)
        assert.deepEqual(others, [])

        await moveHeart(store, CRASHED.workerId)
        const [moved] = await other.workers.listHearts()
        assert.notEqual(moved?.beat, first?.beat)
      },
    },

    {
      name: 'a worker that is not named is not swept',
      run: async (open) => {
        const { other } = await openWithCrash(open)

        assert.deepEqual(await other.workers.sweep({ stopped: [], crashesMax: 3 }), [])
      },
    },

    {
      name: 'no crash is counted on an event that was settled since',
      run: async (open) => {
        const { store, other, eventId } = await openWithCrash(open)
        await runOne(store, done, { slot: CRASHED })
        await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

        assert.deepEqual(await sweepOthers(other, SWEEP), [])
        assertMatches(await other.operators.findEvent(eventId), { state: 'done' })
      },
    },

    {
      name: 'no crash is counted on an attempt that was counted as failed',
      run: async (open) => {
        const { store, other, eventId } = await openWithCrash(open)
        await runOne(store, retryIn(0), { slot: CRASHED })
        await store.workers.announce(CRASHED, [{ eventId, attempt: 1 }])

        assert.deepEqual(await sweepOthers(other, SWEEP), [])
        assertMatches(await other.operators.findEvent(eventId), {
          state: 'ready',
          crashes: 0,
          attempts: 1,
        })
      },
    },

    {
      name: 'a worker that leaves in order takes its records along',
      run: async (open) => {
        const { store, other } = await openWithCrash(open)
        await store.workers.announce(CRASHED, [])

        await store.workers.remove(CRASHED.workerId)

        assert.deepEqual(await sweepOthers(other, SWEEP), [])
      },
    },

    {
      name: 'a swept worker that was alive after all beats on',
      run: async (open) => {
        const { store, other, eventId } = await openWithCrash(open)
        await sweepOthers(other, SWEEP)

        await store.workers.beat({ workerId: CRASHED.workerId, slots: 2, handles: [] })
        const group = await claim(store, { slot: { ...CRASHED, slot: 1 }, kind: 'suspect' })

        assertMatches(group.events, [{ eventId, crashes: 1 }])
        await group.settle(group.events.map(dead))
        assert.deepEqual(await group.commit(), { status: 'committed' })
      },
    },
  ]),
]

const CRASHED = { workerId: 'worker-1', slot: 0 }

const CRASHED_NEXT = { workerId: 'worker-3', slot: 0 }

const LIVING = { workerId: 'worker-2', slot: 0 }

const SWEEP = { crashesMax: 3, me: LIVING.workerId }
