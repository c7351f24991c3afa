import { describe, expect, test } from 'vitest'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must keep of how much secrets are used. */
export function secretUsesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: secret uses`, () => {
    test('add up, and the latest use counts, whichever is written last', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const [early, late] = [new Date(1_760_000_000_000), new Date(1_760_000_000_001)]
      const use = { source: 'stripe', label: 'new', until: undefined }

      await store.events.countSecretUses([{ ...use, deliveries: 0, lastUsedAt: undefined }])
      expect(await store.operators.listSecretUses()).toEqual([
        { ...use, deliveries: 0, lastUsedAt: undefined },
      ])
      await store.events.countSecretUses([{ ...use, deliveries: 2, lastUsedAt: late }])
      await other.events.countSecretUses([{ ...use, deliveries: 3, lastUsedAt: early }])
      await other.events.countSecretUses([{ ...use, deliveries: 0, lastUsedAt: undefined }])
      await store.events.countSecretUses([])

      expect(await store.operators.listSecretUses()).toEqual([
        { ...use, deliveries: 5, lastUsedAt: late },
      ])
    })

    test('are listed by source and label, with the end that was told last', async () => {
      const { store } = await openStore(underTest)
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
      expect(all.map(({ source }) => source)).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
      const ofA = await store.operators.listSecretUses('a')
      expect(ofA.map(({ label }) => label)).toEqual(['key 0 🔑', 'key 1 🔑', 'key 2 🔑'])
      expect(ofA.map(({ deliveries }) => deliveries)).toEqual([2, 2, 2])
      expect(ofA[2]?.until).toEqual(new Date(8.64e15))
      expect(await store.operators.listSecretUses('c\0')).toEqual([])
    })

    test('of several processes at once dead-lock neither', async () => {
      const { store, second } = await openStore(underTest)
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
      expect(found.map(({ deliveries }) => deliveries)).toEqual([20, 20, 20, 20])
    })
  })
}
