import assert from 'node:assert/strict'
import { assertMatches, assertAtLeast } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase, OpenStore } from '../store-case.ts'
import { topicOf } from '../../../model/topic.ts'
import { anEventDraft } from '../steps/builders.ts'
import { claim, recordOne, unhandled } from '../steps/store-steps.ts'

async function openWithUnhandled(
  open: OpenStore,
  events: readonly [source: string, type: string][],
) {
  const opened = await open()
  for (const [index, [source, type]] of events.entries()) {
    await recordOne(opened.store, anEventDraft({ source, type, key: `evt_${index}` }))
  }
  const group = await claim(opened.store, { limit: 100, of: unique(events) })
  await group.settle(group.events.map(unhandled))
  await group.commit()
  return opened
}

export const unhandledCases: readonly StoreCase[] = [
  ...casesOf('unhandled', [
    {
      name: 'each pair of source and type is listed once',
      run: async (open) => {
        const { store } = await openWithUnhandled(open, [
          ['stripe', 'a'],
          ['stripe', 'a'],
          ['stripe', 'b'],
          ['github', 'a'],
        ])

        const listed = await store.queue.listUnhandled(FIRST_PAGE)

        assert.equal(listed.length, 3)
        assert.deepEqual(
          new Map(listed.map(({ topic, source, type }) => [topic, `${source} ${type}`])),
          new Map([
            [topicOf('stripe', 'a'), 'stripe a'],
            [topicOf('stripe', 'b'), 'stripe b'],
            [topicOf('github', 'a'), 'github a'],
          ]),
        )
      },
    },

    {
      name: 'the events of the named topics are parked, no more than asked for, and the others run',
      run: async (open) => {
        const { store } = await open()
        for (const [index, type] of ['a', 'a', 'a', 'b'].entries())
          await recordOne(store, anEventDraft({ type, key: `evt_${index}` }))
        const topics = [topicOf('stripe', 'a'), topicOf('stripe', 'unknown')]
        const park = () => store.queue.parkUnhandled({ kind: 'fresh', topics, limit: 2 })

        const parked = [await park(), await park(), await park()]

        assert.deepEqual(
          parked.map(({ length }) => length),
          [2, 1, 0],
        )
        assert.deepEqual(
          parked
            .flat()
            .map(({ source, key, type, attempt }) => `${source} ${key} ${type} ${attempt}`)
            .toSorted(),
          ['stripe evt_0 a 1', 'stripe evt_1 a 1', 'stripe evt_2 a 1'],
        )
        const group = await claim(store, { limit: 10, of: [['stripe', 'b']] })
        assertMatches(group.events, [{ key: 'evt_3' }])
        await group.abandon()
        assertMatches(await store.queue.listUnhandled(FIRST_PAGE), [{ type: 'a' }])
      },
    },

    // A page that could not be turned would hide whatever comes after its last pair, for ever.
    ...[1, 2, 3, 6, 7].map((limit): StoreCase => ({
      name: `pages of ${limit} together list every pair once`,
      run: async (open) => {
        const pairs: [string, string][] = [
          ['stripe', 'a'],
          ['github', 'a'],
          ['stripe', ''],
          ['stripe', 'é,"b'],
          ['github', 'b'],
          ['stripe', 'a'],
          ['a', 'z'],
        ]
        const { store } = await openWithUnhandled(open, pairs)

        const listed: string[] = []
        for (let after = -1; listed.length <= pairs.length;) {
          const page = await store.queue.listUnhandled({ limit, after })
          assertAtLeast(limit, page.length)
          listed.push(...page.map(({ source, type }) => `${source} ${type}`))
          if (page.length < limit) break
          after = page.at(-1)?.topic ?? 0
        }

        const expected = new Set(pairs.map(([source, type]) => `${source} ${type}`))
        assert.deepEqual(listed.toSorted(), [...expected].toSorted())
      },
    })),

    {
      name: 'the events of the woken pairs run, the others stay',
      run: async (open) => {
        const { store, second } = await openWithUnhandled(open, [
          ['stripe', 'a'],
          ['stripe', 'b'],
          ['github', 'a'],
        ])

        const woken = await (
          await second()
        ).queue.wakeUnhandled([topicOf('stripe', 'a'), topicOf('unknown', 'a')], 10)

        assert.equal(woken, 1)
        const group = await claim(store, { of: [['stripe', 'a']] })
        assertMatches(group.events, [{ source: 'stripe', type: 'a', attempt: 1 }])
        await group.abandon()
        assert.equal((await store.queue.listUnhandled(FIRST_PAGE)).length, 2)
      },
    },

    {
      name: 'no more are woken than asked for',
      run: async (open) => {
        const { store } = await openWithUnhandled(open, [
          ['stripe', 'a'],
          ['stripe', 'a'],
          ['stripe', 'b'],
        ])
        const topics = (await store.queue.listUnhandled(FIRST_PAGE)).map(({ topic }) => topic)

        assert.equal(await store.queue.wakeUnhandled(topics, 2), 2)
        assert.equal(await store.queue.wakeUnhandled(topics, 2), 1)
        assert.equal(await store.queue.wakeUnhandled(topics, 2), 0)
      },
    },

    {
      name: 'waking nothing wakes nothing',
      run: async (open) => {
        const { store } = await openWithUnhandled(open, [['stripe', 'a']])

        assert.equal(await store.queue.wakeUnhandled([], 10), 0)
        assert.equal((await store.queue.listUnhandled(FIRST_PAGE)).length, 1)
      },
    },
  ]),
]

const FIRST_PAGE = { limit: 10, after: -1 }

/** A claim names each topic once. */
function unique(pairs: readonly [source: string, type: string][]): typeof pairs {
  return [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).values()]
}
