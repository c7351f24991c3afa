import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { StoreCase } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import { dead, done, recordOne, runOne } from '../steps/store-steps.ts'
import { highestId, lowestId } from '../../../model/id-range.ts'

export const countCases: readonly StoreCase[] = casesOf('counts', [
  {
    name: 'are of each place by source, and look at no more than they may',
    run: async (open) => {
      const { store } = await open()
      for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))
      await recordOne(store, anEventDraft({ source: 'github', key: 'a', type: 'push' }))
      await runOne(store, done)
      await runOne(store, dead)

      const of = async (place: Parameters<typeof store.stats.countPlace>[0]) =>
        new Map(
          (await store.stats.countPlace(place, 100)).bySource.map((each) => [
            each.source,
            each.count,
          ]),
        )
      assert.deepEqual(
        await of('ready'),
        new Map([
          ['stripe', 1],
          ['github', 1],
        ]),
      )
      assert.deepEqual(await of({ settled: 'dead' }), new Map([['stripe', 1]]))
      assertMatches(await store.stats.countPlace('ready', 1), { lookedAt: 1 })
    },
  },

  {
    name: 'tell what is due, and what has arrived',
    run: async (open) => {
      const { store } = await open()
      for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))
      await runOne(store, done)
      const range = { from: lowestId, below: highestId }

      const due = await store.stats.countDue(100)
      const received = await store.stats.countReceived(range, 'stripe', 100)

      assert.equal(due.due, 2)
      assert.ok(due.oldestDueAt instanceof Date)
      assert.deepEqual(received.bySource, [{ source: 'stripe', count: 3 }])
      assert.ok((await store.stats.now()) instanceof Date)
    },
  },

  {
    name: 'tell what is open in the database, where the engine knows, and no more of it than they may',
    run: async (open) => {
      const { store } = await open()

      const found = await store.stats.listOpenTransactions(1)

      if (found === undefined) return
      assert.ok(found.length <= 2)
      for (const { name, since } of found)
        assert.ok(name !== '' && (since === undefined || since instanceof Date))
    },
  },
])
