import assert from 'node:assert/strict'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'

export const secretUseCases: readonly StoreCase[] = [
  ...casesOf('secret uses', [
    {
      name: 'add up, and the latest use counts, whichever is written last',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const [early, late] = [new Date(1_760_000_000_000), new Date(1_760_000_000_001)]
        const use = { source: 'stripe', label: 'new', until: undefined }

        await store.events.countSecretUses([{ ...use, deliveries: 0, lastUsedAt: undefined }])
        assert.deepEqual(await store.operators.listSecretUses(), [
          { ...use, deliveries: 0, lastUsedAt: undefined },
        ])
        await store.events.countSecretUses([{ ...use, deliveries: 2, lastUsedAt: late }])
        await other.events.countSecretUses([{ ...use, deliveries: 3, lastUsedAt: early }])
        await other.events.countSecretUses([{ ...use, deliveries: 0, lastUsedAt: undefined }])
        await store.events.countSecretUses([])

        assert.deepEqual(await store.operators.listSecretUses(), [
          { ...use, deliveries: 5, lastUsedAt: late },
        ])
      },
    },

    {
      name: 'are listed by source and label, with the end that was told last',
      run: async (open) => {
        const { store } = await open()
        const ends = [new Date(-8.64e15), new Date(0), new Date(8.64e15)]
        const uses = ['b', 'a'].flatMap((source) =>
          ends.map((until, nth) => ({
            source,
            label: `key ${nth} \u{1f511}`,
            deliveries: 1,
            lastUsedAt: new Date(5),
            until,
          })),
        )
        await store.events.countSecretUses(uses.map((use) => ({ ...use, until: undefined })))
        await store.events.countSecretUses(uses)

        const all = await store.operators.listSecretUses()
        assert.deepEqual(
          all.map(({ source }) => source),
          ['a', 'a', 'a', 'b', 'b', 'b'],
        )
        const ofA = await store.operators.listSecretUses('a')
        assert.deepEqual(
          ofA.map(({ label }) => label),
          ['key 0 🔑', 'key 1 🔑', 'key 2 🔑'],
        )
        assert.deepEqual(
          ofA.map(({ deliveries }) => deliveries),
          [2, 2, 2],
        )
        assert.deepEqual(ofA[2]?.until, new Date(8.64e15))
        assert.deepEqual(await store.operators.listSecretUses('c\0'), [])
      },
    },

    {
      name: 'of several processes at once dead-lock neither',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const uses = ['a', 'b', 'c', 'd'].map((label) => ({
          source: 'stripe',
          label,
          deliveries: 1,
          lastUsedAt: new Date(5),
          until: undefined,
        }))

        await Promise.all(
          Array.from({ length: 20 }, (_, nth) =>
            (nth % 2 === 0 ? store : other).events.countSecretUses(
              nth % 2 === 0 ? uses : uses.toReversed(),
            ),
          ),
        )

        const found = await store.operators.listSecretUses('stripe')
        assert.deepEqual(
          found.map(({ deliveries }) => deliveries),
          [20, 20, 20, 20],
        )
      },
    },
  ]),
]
