import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import { anEventDraft } from '../steps/builders.ts'
import { act, dead, NO_ORDER, recordOne, runOne } from '../steps/store-steps.ts'

const BULK = '01900000-0000-7000-8000-000000000001'

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
])

async function recordDead(store: AnyStore, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    await recordOne(store, anEventDraft({ key: `evt_${n}` }))
    ids.push(await runOne(store, dead))
  }
  return ids
}

async function create(store: AnyStore): Promise<void> {
  const { reason, actor } = NO_ORDER
  await store.bulks.create({
    id: BULK,
    action: 'retry',
    filter: '{}',
    reason,
    actor,
    terms: undefined,
  })
}

async function plan(store: AnyStore, eventIds: readonly string[]): Promise<void> {
  await create(store)
  await store.bulks.addEvents(BULK, eventIds)
  await store.bulks.endPlanning(BULK)
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
