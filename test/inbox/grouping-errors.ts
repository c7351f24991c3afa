import { describe, expect, test } from 'vitest'
import { createEventFinder } from '../../src/admin/event-finder.ts'
import type { EventFinder } from '../../src/admin/event-finder.ts'
import type { ClaimedEvent } from '../../src/store/contract/claimed-event.ts'
import type { Settlement } from '../../src/model/outcome.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from '../support/builders.ts'
import { copyEvent } from '../support/copy-event.ts'
import type { CopyRequest } from '../support/copy-event.ts'
import { dead, recordOne, retryIn, runOne } from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

/** How `admin.groups` tells errors apart, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function groupingErrorsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: groups of errors`, () => {
    test('dead events are grouped by what they died of, most frequent first', async () => {
      const { store, finder } = await open(underTest)
      const ids: string[] = []
      for (const key of ['1', '2', '3']) {
        await recordOne(store, anEventDraft({ key }))
        ids.unshift(await runOne(store, diesOf(`CardError: charge ch_${key} was declined`)))
      }
      await recordOne(store, anEventDraft({ key: 'other' }))
      await runOne(store, diesOf('TypeError: no amount'))

      const { groups, lookedAt, isComplete } = await finder.groups()

      expect(groups).toMatchObject([
        {
          reason: 'error',
          handler: 'pay',
          message: 'CardError: charge … was declined',
          count: 3,
          sources: ['stripe'],
          sample: ids,
        },
        { message: 'TypeError: no amount', count: 1 },
      ])
      expect(groups[0]?.firstSeenAt.getTime()).toBeLessThanOrEqual(
        groups[0]?.lastSeenAt.getTime() ?? 0,
      )
      expect({ lookedAt, isComplete }).toEqual({ lookedAt: 4, isComplete: true })
    })

    test('events that wait for another attempt are groups of their own', async () => {
      const { store, finder } = await open(underTest)
      await recordOne(store, anEventDraft())
      await runOne(store, retryIn(3_600_000))

      expect(await finder.groups({ state: 'failed' })).toMatchObject({
        groups: [{ message: 'Error: no luck', count: 1 }],
        lookedAt: 1,
      })
      expect(await finder.groups()).toMatchObject({ groups: [], lookedAt: 0 })
    })

    test.each(['dead', 'failed'] as const)(
      '%s events are grouped from a time on, and by source',
      async (state) => {
        const { store, finder } = await open(underTest)
        await recordOne(store, anEventDraft())
        await runOne(store, state === 'dead' ? dead : retryIn(3_600_000))
        const now = (await store.events.beat(undefined)).now.getTime()
        const count = async (query: object) =>
          (await finder.groups({ state, ...query })).groups.reduce(
            (sum, group) => sum + group.count,
            0,
          )

        expect(await count({ since: new Date(now - 3_600_000) })).toBe(1)
        expect(await count({ since: new Date(now + 3_600_000) })).toBe(0)
        expect(await count({ source: 'stripe' })).toBe(1)
        expect(await count({ source: 'github' })).toBe(0)
      },
    )

    // Made of copies, which cannot be where a row opens in its own place alone.
    test.skipIf(underTest.encrypts).each(['dead', 'failed'] as const)(
      'no more than 10,000 %s events are looked at, each once',
      async (state) => {
        const { store, finder, copy } = await open(underTest)
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, state === 'dead' ? dead : retryIn(3_600_000))

        // 600 of one time: a page ends among equals.
        await copy({ eventId, count: 599 })
        const some = await finder.groups({ state })
        expect(some).toMatchObject({ lookedAt: 600, isComplete: true, groups: [{ count: 600 }] })

        await copy({ eventId, count: 10_100, from: 600 })
        const many = await finder.groups({ state })
        expect(many).toMatchObject({ lookedAt: 10_000, isComplete: false })
        expect(many.groups.reduce((sum, { count }) => sum + count, 0)).toBe(10_000)
      },
    )
  })
}

function diesOf(message: string): (event: ClaimedEvent) => Settlement {
  return (event) => ({
    ...dead(event),
    failure: { ...dead(event).failure, message, handler: 'pay' },
  })
}

async function open(underTest: StoreUnderTest): Promise<{
  store: Store<QueryTx>
  finder: EventFinder
  copy: (request: Omit<CopyRequest, 'engine'>) => Promise<void>
}> {
  const { store, database } = await openStore(underTest)
  return {
    store,
    finder: createEventFinder((question) => question(store)),
    copy: (request) => copyEvent(database, { engine: store.engine, ...request }),
  }
}
