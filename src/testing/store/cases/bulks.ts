import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import { act, dead, NO_ORDER, recordOne, runOne } from '../steps/store-steps.ts'

const BULK = bulkNumbered(1)

export const bulkCases: readonly StoreCase[] = casesOf('actions on many events', [
  {
    name: 'each event is acted on once, by however many processes',
    run: async (open) => {
      const { store, second } = await open()
      const other = await second()
      await plan(store, await recordDead(store, 12))

      const acted = await Promise.all([runAll(store), runAll(other), runAll(store)])

      assert.equal(new Set(acted.flat()).size, 12)
      assert.equal(acted.flat().length, 12)
      assertMatches(await store.bulks.find(BULK), { planned: 12, done: 12, left: 0, refused: {} })
      assert.deepEqual(await store.operators.listDead(20), [])
      assert.equal((await store.operators.listAudit({ limit: 20 })).length, 12)
    },
  },

  {
    name: 'an event that has changed since is refused, and the others are acted on',
    run: async (open) => {
      const { store } = await open()
      const ids = await recordDead(store, 2)
      await plan(store, ids)
      await act(store, 'discard', ids[0] ?? '')

      await runAll(store)

      assertMatches(await store.bulks.find(BULK), { done: 1, refused: { EVENT_DISCARDED: 1 } })
    },
  },

  {
    name: 'nothing is done before the plan is complete, nor after it was aborted',
    run: async (open) => {
      const { store, second } = await open()
      const ids = await recordDead(store, 2)
      await create(store)
      await store.bulks.addEvents(BULK, ids)
      await store.bulks.addEvents(BULK, ids)
      assert.deepEqual(await store.bulks.actOnNext(BULK), { status: 'none' })
      await store.bulks.endPlanning(BULK)
      assertMatches(await store.bulks.actOnNext(BULK), { status: 'done', eventId: ids[1] })

      assert.deepEqual(await (await second()).bulks.abort(BULK, NO_ORDER), { status: 'done' })

      assert.deepEqual(await store.bulks.actOnNext(BULK), { status: 'none' })
      assertMatches(await store.bulks.find(BULK), { state: 'aborted', planned: 2, left: 1 })
    },
  },

  {
    name: 'those that have events left are listed, latest first, and the others where all are asked for',
    run: async (open) => {
      const { store } = await open()
      const [first = '', second = ''] = await recordDead(store, 2)
      await create(store, bulkNumbered(1))
      await plan(store, [first], bulkNumbered(2))
      await plan(store, [first], bulkNumbered(3))
      await plan(store, [first, second], bulkNumbered(4))
      await plan(store, [], bulkNumbered(5))
      await store.bulks.actOnNext(bulkNumbered(2))
      await store.bulks.abort(bulkNumbered(3), NO_ORDER)
      await plan(store, [second], bulkNumbered(6))

      const listed = async (which: 'unfinished' | 'all', limit = 100) =>
        (await store.bulks.list({ which, limit })).map(({ id }) => id)
      assert.deepEqual(await listed('unfinished'), [6, 4].map(bulkNumbered))
      assert.deepEqual(await listed('unfinished', 1), [bulkNumbered(6)])
      assert.deepEqual(await listed('all'), [6, 5, 4, 3, 2, 1].map(bulkNumbered))
      assert.deepEqual(await store.bulks.list({ which: 'all', limit: 1 }), [
        await store.bulks.find(bulkNumbered(6)),
      ])
    },
  },
])

function bulkNumbered(n: number): string {
  return `01900000-0000-7000-8000-00000000000${n}`
}

async function recordDead(store: AnyStore, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    await recordOne(store, anEventDraft({ key: `evt_${n}` }))
    ids.push(await runOne(store, dead))
  }
  return ids
}

async function create(store: AnyStore, id = BULK): Promise<void> {
  const { reason, actor } = NO_ORDER
  await store.bulks.create({
    id,
    action: 'retry',
    filter: '{}',
    reason,
    actor,
    terms: undefined,
  })
}

async function plan(store: AnyStore, eventIds: readonly string[], id = BULK): Promise<void> {
  await create(store, id)
  await store.bulks.addEvents(id, eventIds)
  await store.bulks.endPlanning(id)
}

/** Acts on what is left, and says on which events. */
async function runAll(store: AnyStore): Promise<readonly string[]> {
  const acted: string[] = []
  for (;;) {
    const result = await store.bulks.actOnNext(BULK)
    if (result.status === 'none') return acted
    acted.push(result.eventId)
  }
}
