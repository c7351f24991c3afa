import { describe, expect, test } from 'vitest'
import type { EventId } from '../../../src/model/event.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import { sendFrom, sent, settleMessage } from '../../support/outbox-steps.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'
import { done, NO_ORDER, recordOne, runOne } from '../../support/store-steps.ts'

/** What every store must do to forget, and what it must not. */
export function retentionContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: retention`, () => {
    test('P04: an event that runs once more is kept, whatever the age of its last run', async () => {
      const { store, database } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      await queueAgain(database.query, store, eventId)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({
        events: 0,
        keys: 0,
        outcomes: 0,
      })

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        payload: 'kept',
      })
    })

    test('a message of an event that can run again is kept, so that it is not sent twice', async () => {
      const { store, database } = await openStore(underTest)
      const { eventId, key } = await sendFrom(store, 'again')
      await settleMessage(store, key, sent)
      await makeDead(database.query, store, eventId)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({ messages: 0, events: 0 })
    })

    test('a bulk goes when nothing was done for it for so long, with its events', async () => {
      const { store, database } = await openStore(underTest)
      const prefix = store.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
      const plan = async (number: number, eventIds: readonly string[]) => {
        const id = bulkId(number)
        await store.bulks.create({ ...BULK, id })
        await store.bulks.addEvents(id, eventIds)
        await store.bulks.endPlanning(id)
        return id
      }
      const many = Array.from({ length: 1_100 }, (_, n) => bulkId(10_000 + n))
      const [ended, left, busy] = [
        await plan(1, many),
        await plan(2, [bulkId(4)]),
        await plan(3, many),
      ]
      await store.bulks.actOnNext(ended)
      // Long ago by all that is known of it; and one that was taken up again since.
      await ageBulks(database.query, store.engine)
      await store.bulks.actOnNext(busy)

      expect(await pruneRows(store, limitsIn(364))).toMatchObject({ bulks: 2 })

      for (const id of [ended, left]) {
        expect(await store.bulks.find(id)).toBeUndefined()
        expect(await store.bulks.actOnNext(id)).toEqual({ status: 'none' })
      }
      expect(await store.bulks.find(busy)).toMatchObject({ planned: 1_100, left: 1_099 })
      expect(await pruneRows(store, limitsIn(400, { auditDays: 'forever' }))).toMatchObject({
        bulks: 0,
      })
      expect(await pruneRows(store, limitsIn(366))).toMatchObject({ bulks: 1 })
      for (const table of ['bulks', 'bulk_events'])
        expect(await database.query(`select 1 from ${prefix}${table}`)).toEqual([])
    })

    test('a bulk that is being removed is neither found nor run', async () => {
      const { store } = await openStore(underTest)
      const id = bulkId(1)
      await store.bulks.create({ ...BULK, id })
      await store.bulks.addEvents(
        id,
        Array.from({ length: 600 }, (_, n) => bulkId(10_000 + n)),
      )
      await store.bulks.endPlanning(id)

      expect(await store.retention.prune('bulks', limitsIn(366), undefined)).toMatchObject({
        removed: { bulks: 0 },
        next: expect.any(String) as string,
      })

      expect(await store.bulks.find(id)).toBeUndefined()
      expect(await store.bulks.actOnNext(id)).toEqual({ status: 'none' })
      expect(await store.bulks.abort(id, NO_ORDER)).toMatchObject({ code: 'BULK_UNKNOWN' })
    })
  })
}

/** Its next run, as an operator would order it. */
async function queueAgain(
  query: (sql: string, params?: readonly unknown[]) => Promise<unknown>,
  { engine }: Store<QueryTx>,
  eventId: EventId,
) {
  const now = engine === 'postgres' ? 'now()' : "cast(unixepoch('subsec') * 1000 as integer)"
  const [queue, bytes] =
    engine === 'postgres' ? ['hookonce.queue', ', bytes'] : ['hookonce_queue', '']
  await query(
    `insert into ${queue} (event_id, topic, run, run_at${bytes})
     values ($1, 1, 1, ${now}${engine === 'postgres' ? ', 12' : ''})`,
    [eventId],
  )
}

/** As if its run had ended otherwise: no operation makes a done event dead. */
async function makeDead(
  query: (sql: string, params?: readonly unknown[]) => Promise<unknown>,
  store: Store<QueryTx>,
  eventId: EventId,
) {
  const table = store.engine === 'postgres' ? 'hookonce.outcomes' : 'hookonce_outcomes'
  await query(`update ${table} set state = 'dead' where event_id = $1`, [eventId])
}

const BULK = {
  action: 'retry',
  filter: '{}',
  reason: undefined,
  actor: undefined,
  token: undefined,
  terms: undefined,
} as const

function bulkId(number: number): string {
  return `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
}

/** Two days. */
async function ageBulks(
  query: (sql: string) => Promise<unknown>,
  engine: 'postgres' | 'sqlite',
): Promise<void> {
  const [prefix, days] =
    engine === 'postgres' ? ['hookonce.', "interval '2 days'"] : ['hookonce_', '2 * 86400000']
  await query(`update ${prefix}bulks set created_at = created_at - ${days}`)
  await query(`update ${prefix}bulk_events set acted_at = acted_at - ${days}`)
}
