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
      for (const own of acted) assert.deepEqual(own, own.toSorted())
      assertMatches(await store.bulks.find(BULK), { planned: 12, done: 12, left: 0, refused: {} })
      assert.deepEqual(await store.operators.listDead({ limit: 20 }), [])
      const audit = await store.operators.listAudit({ limit: 20 })
      assert.equal(audit.filter(({ action }) => action === 'retry').length, 12)
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
      assertMatches(await store.bulks.actOnNext(BULK), { status: 'done', eventId: ids[0] })

      assert.deepEqual(await (await second()).bulks.abort(BULK, NO_ORDER), { status: 'done' })

      assert.deepEqual(await store.bulks.actOnNext(BULK), { status: 'none' })
      assertMatches(await store.bulks.find(BULK), { state: 'aborted', planned: 2, left: 1 })
    },
  },

  {
    name: 'a token stands for one plan and for one run, and each has a row in the audit',
    run: async (open) => {
      const { store } = await open()
      const draft = { action: 'retry', filter: '{}', terms: undefined } as const
      const order = { reason: 'fixed', actor: 'ada', token: 'click 1' }
      const create = (n: number, token = order.token) =>
        store.bulks.create({ ...draft, ...order, token, id: bulkNumbered(n) })

      const [one, two] = await Promise.all([create(1), create(2)])
      const other = await create(3, 'click 2')
      const id = 'id' in one ? one.id : ''

      assertMatches(two, { id })
      assert.deepEqual([one.status, two.status].sort(), ['created', 'known'])
      assertMatches(other, { status: 'created', id: bulkNumbered(3) })
      assert.equal(await store.bulks.find(id === BULK ? bulkNumbered(2) : BULK), undefined)
      const run = { ...order, token: 'click 3' }
      assert.deepEqual(await store.bulks.beginRun(id, run), {
        status: 'refused',
        code: 'BULK_UNPLANNED',
      })
      await store.bulks.endPlanning(id)
      for (let at = 0; at < 2; at += 1)
        assert.deepEqual(await store.bulks.beginRun(id, run), { status: 'done' })
      assert.deepEqual(await store.bulks.beginRun(id, order), {
        status: 'refused',
        code: 'TOKEN_USED',
      })
      assertMatches(await create(4, 'click 3'), { status: 'refused', code: 'TOKEN_USED' })
      const audit = await store.operators.listAudit({ subject: { kind: 'bulk', id }, limit: 9 })
      assert.deepEqual(
        audit.map(({ action, actor, reason, token }) => [action, actor, reason, token]),
        [
          ['bulk.run', 'ada', 'fixed', 'click 3'],
          ['bulk.plan', 'ada', 'fixed', 'click 1'],
        ],
      )
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

      const listed = async (which: 'unfinished' | 'all', limit = 100, below?: string) =>
        (await store.bulks.list({ which, limit, below })).map(({ id }) => id)
      assert.deepEqual(await listed('unfinished'), [6, 4].map(bulkNumbered))
      assert.deepEqual(await listed('unfinished', 1), [bulkNumbered(6)])
      assert.deepEqual(await listed('unfinished', 9, bulkNumbered(6)), [bulkNumbered(4)])
      assert.deepEqual(await listed('all', 2, bulkNumbered(5)), [4, 3].map(bulkNumbered))
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
  await store.bulks.create({ id, action: 'retry', filter: '{}', ...NO_ORDER, terms: undefined })
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
