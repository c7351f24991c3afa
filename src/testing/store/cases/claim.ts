import assert from 'node:assert/strict'
import { assertMatches, assertAbove, assertAtLeast } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import type { Group } from '../../../store/contract/group.ts'
import { aClaim, anEventDraft } from '../steps/builders.ts'
import { claim, done, nextDueInMs, recordOne, retryIn, runOne } from '../steps/store-steps.ts'

const OTHER_SLOT = { workerId: 'worker-2', slot: 0 }

export const claimCases: readonly StoreCase[] = [
  ...casesOf('claim', [
    {
      name: 'an empty queue has nothing to claim',
      run: async (open) => {
        const { store } = await open()

        assert.equal(await store.queue.claim(aClaim()), undefined)
        assert.equal(await nextDueInMs(store), undefined)
      },
    },

    {
      name: 'events are claimed oldest first, no more than asked for',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))

        const group = await claim(store, { limit: 2 })

        assert.deepEqual(
          group.events.map(({ key, attempt, crashes }) => [key, attempt, crashes]),
          [
            ['a', 1, 0],
            ['b', 1, 0],
          ],
        )
        await group.abandon()
      },
    },

    {
      name: 'a claimed event carries the hash by which it is known',
      run: async (open) => {
        const { store } = await open()
        const draft = anEventDraft()
        await recordOne(store, draft)

        const group = await claim(store)

        assert.deepEqual(
          group.events.map(({ keyHash }) => keyHash),
          [Buffer.from(draft.keyHash, 'latin1').toString('hex')],
        )
        await group.abandon()
      },
    },

    {
      name: 'only the topics that were asked for are claimed, and the others are claimable',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        for (const type of ['a', 'b', 'c'])
          await recordOne(store, anEventDraft({ key: type, type }))

        const group = await claim(store, { of: [['stripe', 'b']] })
        await group.settle(group.events.map(done))
        await group.commit()

        assert.deepEqual(keysOf(group), ['b'])
        const rest = await claim(other, {
          slot: OTHER_SLOT,
          of: [
            ['stripe', 'c'],
            ['stripe', 'a'],
          ],
        })
        // In the order in which they were asked for, since it is whose turn it is.
        assert.deepEqual(keysOf(rest), ['c', 'a'])
        await rest.abandon()
      },
    },

    {
      name: 'with enough of one topic a claim goes on to no other',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['a1', 'a2', 'b1', 'b2', 'c1'])
          await recordOne(store, anEventDraft({ key, type: key.slice(0, 1) }))

        const group = await claim(store, {
          enough: 3,
          of: [
            ['stripe', 'a'],
            ['stripe', 'b'],
            ['stripe', 'c'],
          ],
        })

        assert.deepEqual(keysOf(group), ['a1', 'a2', 'b1', 'b2'])
        await group.abandon()
      },
    },

    {
      name: 'of each topic no more is claimed than was asked for',
      run: async (open) => {
        const { store } = await open()
        for (const key of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
          await recordOne(store, anEventDraft({ key, type: key.slice(0, 1) }))

        const group = await claim(store, {
          limit: 2,
          of: [
            ['stripe', 'a'],
            ['stripe', 'b'],
          ],
        })

        assert.deepEqual(keysOf(group), ['a1', 'a2', 'b1', 'b2'])
        await group.abandon()
      },
    },

    {
      name: 'what was not asked for is claimable while the group is open',
      needs: 'many writers',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))

        const group = await claim(store, { limit: 1 })
        const beside = await claim(other, { slot: OTHER_SLOT })

        assert.deepEqual(keysOf(group), ['a'])
        assert.deepEqual(keysOf(beside), ['b'])
        await beside.abandon()
        await group.abandon()
      },
    },

    {
      name: 'an event in an open group is not claimable by another worker',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await recordOne(store, anEventDraft())
        const group = await claim(store)

        assert.equal(await other.queue.claim(aClaim({ slot: OTHER_SLOT })), undefined)

        await group.abandon()
      },
    },

    {
      name: 'an abandoned group gives its events back at once',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const { eventId } = await recordOne(store, anEventDraft())

        await (await claim(store)).abandon()

        const again = await claim(other, { slot: OTHER_SLOT })
        assertMatches(again.events, [{ eventId, attempt: 1 }])
        await again.abandon()
      },
    },

    {
      name: 'a store that is closed with a group open gives its events back',
      run: async (open) => {
        const { newStore, store, second } = await open()
        const other = await second()
        const { eventId } = await recordOne(store, anEventDraft())
        const leaving = newStore()
        await leaving.open()
        await claim(leaving)

        await leaving.close()

        const again = await claim(other, { slot: OTHER_SLOT })
        assertMatches(again.events, [{ eventId, attempt: 1 }])
        await again.abandon()
      },
    },

    {
      name: 'events that failed before are claimed as such, one at a time',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'a' }))
        await recordOne(store, anEventDraft({ key: 'b' }))
        await runOne(store, retryIn(0))
        await runOne(store, retryIn(0))

        assert.equal(await store.queue.claim(aClaim({ kind: 'fresh' })), undefined)
        const again = await claim(store, { kind: 'again', limit: 10 })

        assertMatches(again.events, [{ key: 'a', attempt: 2 }])
        await again.abandon()
      },
    },

    {
      name: 'an event that waits for its retry is not due, and the wait is known',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        assert.equal(await nextDueInMs(store), 0)
        await runOne(store, retryIn(3_600_000))

        assert.equal(await store.queue.claim(aClaim({ kind: 'again' })), undefined)
        const dueInMs = await nextDueInMs(store)
        assertAbove(dueInMs, 0)
        assertAtLeast(3_600_000, dueInMs)
      },
    },

    {
      name: 'a nudge makes a waiting event due, and does nothing to any other',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft({ key: 'a' }))
        await runOne(store, retryIn(3_600_000))
        const parked = await recordOne(store, anEventDraft({ key: undefined, body: 'keyless' }))

        await store.events.nudge(eventId)
        await store.events.nudge(parked.eventId)
        await store.events.nudge('00000000-0000-7000-8000-000000000000')

        const group = await claim(store, { kind: 'again' })
        assertMatches(group.events, [{ eventId, attempt: 2 }])
        await group.abandon()
        assertMatches(await store.operators.findEvent(parked.eventId), {
          state: 'quarantined',
        })
      },
    },
  ]),
]

function keysOf({ events }: Pick<Group<unknown>, 'events'>): readonly string[] {
  return events.map(({ key }) => key)
}
