import { describe, expect, test } from 'vitest'
import { topicOf } from '../../../src/model/topic.ts'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, recordOne, unhandled } from '../../support/store-steps.ts'

const FIRST_PAGE = { limit: 10, after: -1 }

/** What every store must do with events that no handler wants yet. */
export function unhandledContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: unhandled`, () => {
    async function openWithUnhandled(events: readonly [source: string, type: string][]) {
      const opened = await openStore(underTest)
      for (const [index, [source, type]] of events.entries()) {
        await recordOne(opened.store, anEventDraft({ source, type, key: `evt_${index}` }))
      }
      const group = await claim(opened.store, { limit: 100, of: unique(events) })
      await group.settle(group.events.map(unhandled))
      await group.commit()
      return opened
    }

    test('each pair of source and type is listed once', async () => {
      const { store } = await openWithUnhandled([
        ['stripe', 'a'],
        ['stripe', 'a'],
        ['stripe', 'b'],
        ['github', 'a'],
      ])

      const listed = await store.queue.listUnhandled(FIRST_PAGE)

      expect(listed).toHaveLength(3)
      expect(listed).toEqual(
        expect.arrayContaining([
          { source: 'stripe', type: 'a', topic: topicOf('stripe', 'a') },
          { source: 'stripe', type: 'b', topic: topicOf('stripe', 'b') },
          { source: 'github', type: 'a', topic: topicOf('github', 'a') },
        ]),
      )
    })

    // A page that could not be turned would hide whatever comes after its last pair, for ever.
    test.each([1, 2, 3, 6, 7])('pages of %i together list every pair once', async (limit) => {
      const pairs: [string, string][] = [
        ['stripe', 'a'],
        ['github', 'a'],
        ['stripe', ''],
        ['stripe', 'é,"b'],
        ['github', 'b'],
        ['stripe', 'a'],
        ['a', 'z'],
      ]
      const { store } = await openWithUnhandled(pairs)

      const listed: string[] = []
      for (let after = -1; listed.length <= pairs.length;) {
        const page = await store.queue.listUnhandled({ limit, after })
        expect(page.length).toBeLessThanOrEqual(limit)
        listed.push(...page.map(({ source, type }) => `${source} ${type}`))
        if (page.length < limit) break
        after = page.at(-1)?.topic ?? 0
      }

      const expected = new Set(pairs.map(([source, type]) => `${source} ${type}`))
      expect(listed.toSorted()).toEqual([...expected].toSorted())
    })

    test('the events of the woken pairs run, the others stay', async () => {
      const { store, second } = await openWithUnhandled([
        ['stripe', 'a'],
        ['stripe', 'b'],
        ['github', 'a'],
      ])

      const woken = await (
        await second()
      ).queue.wakeUnhandled([topicOf('stripe', 'a'), topicOf('unknown', 'a')], 10)

      expect(woken).toBe(1)
      const group = await claim(store, { of: [['stripe', 'a']] })
      expect(group.events).toMatchObject([{ source: 'stripe', type: 'a', attempt: 1 }])
      await group.abandon()
      expect(await store.queue.listUnhandled(FIRST_PAGE)).toHaveLength(2)
    })

    test('no more are woken than asked for', async () => {
      const { store } = await openWithUnhandled([
        ['stripe', 'a'],
        ['stripe', 'a'],
        ['stripe', 'b'],
      ])
      const topics = (await store.queue.listUnhandled(FIRST_PAGE)).map(({ topic }) => topic)

      expect(await store.queue.wakeUnhandled(topics, 2)).toBe(2)
      expect(await store.queue.wakeUnhandled(topics, 2)).toBe(1)
      expect(await store.queue.wakeUnhandled(topics, 2)).toBe(0)
    })

    test('waking nothing wakes nothing', async () => {
      const { store } = await openWithUnhandled([['stripe', 'a']])

      expect(await store.queue.wakeUnhandled([], 10)).toBe(0)
      expect(await store.queue.listUnhandled(FIRST_PAGE)).toHaveLength(1)
    })
  })
}

/** A claim names each topic once. */
function unique(pairs: readonly [source: string, type: string][]): typeof pairs {
  return [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).values()]
}
