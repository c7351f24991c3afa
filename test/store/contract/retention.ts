import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { EventId } from '../../../src/model/event.ts'
import type { ClaimedMessage, MessageSettlement } from '../../../src/store/contract/messages.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { aClaim, aMessageDraft, anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { claimMessages, sent, unknownMessage } from '../../support/outbox-steps.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'
import {
  act,
  claim,
  dead,
  done,
  NO_ORDER,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../../support/store-steps.ts'

/** What every store must do to forget, and what it must not. */
export function retentionContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: retention`, () => {
    test('P02: a payload goes after its days, and a redelivery is still a duplicate', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 1 }])

      expect(await pruneRows(store, limitsIn(29))).toMatchObject({ events: 0, keys: 0 })
      expect(await pruneRows(store, limitsIn(31))).toMatchObject({
        events: 1,
        deliveries: 1,
        keys: 0,
        outcomes: 0,
      })

      expect(await recordOne(store, anEventDraft())).toEqual({ status: 'duplicate', eventId })
      expect(await store.events.findOutcome(eventId)).toMatchObject({
        outcome: { state: 'done', result: '{"ok":true}' },
      })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        id: eventId,
        state: 'done',
        payload: 'pruned',
      })
      expect(await store.operators.countEvents()).toBe(0)
    })

    test('P03: a redelivery after the key is gone is an event of its own', async () => {
      const { store } = await openStore(underTest)
      const policy = { sameBytes: 'duplicate' } as const
      const { eventId } = await recordOne(store, anEventDraft(policy))
      await runOne(store, done)

      expect(await pruneRows(store, limitsIn(44))).toMatchObject({ keys: 0 })
      expect(await pruneRows(store, limitsIn(46))).toMatchObject({ keys: 2, outcomes: 1 })

      const again = await recordOne(store, anEventDraft(policy))
      expect(again.status).toBe('accepted')
      expect(await store.operators.findEvent(eventId)).toBeUndefined()
    })

    test('a key that is kept for a shorter time than the payload leaves the event as it ended', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)

      const limits = limitsIn(10, { keysDays: 8 })
      expect(await pruneRows(store, limits)).toMatchObject({ keys: 1, outcomes: 0, events: 0 })

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        payload: 'kept',
      })
    })

    test('nothing goes that is kept for ever', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a' }))
      await runOne(store, done)
      await recordOne(store, anEventDraft({ key: 'b' }))
      await runOne(store, skipped)

      const forever = { doneDays: 'forever', skippedDays: 'forever', keysDays: 'forever' } as const
      expect(await pruneRows(store, limitsIn(30_000, forever))).toMatchObject({
        events: 0,
        keys: 0,
        outcomes: 0,
      })
    })

    test('P04: only what has ended goes, whatever its age', async () => {
      const { store } = await openStore(underTest)
      const kept = await recordInEveryState(store)

      const removed = await pruneRows(store, limitsIn(10_000))

      expect(removed).toMatchObject({ events: 2, keys: 2, outcomes: 2, discarded: 0 })
      for (const [name, draft] of Object.entries(kept.drafts)) {
        expect(await recordOne(store, draft), name).toMatchObject({
          status: name === 'dead' ? 'revived' : 'duplicate',
        })
      }
      for (const [name, eventId] of Object.entries(kept.ids))
        expect(await store.operators.findEvent(eventId), name).toMatchObject({ payload: 'kept' })
    })

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

    test('P04: an event whose message is unsent or unknown is kept with its key', async () => {
      const { store } = await openStore(underTest)
      const unsent = await sendFrom(store, 'unsent')
      const inDoubt = await sendFrom(store, 'in-doubt')
      await settleMessage(store, inDoubt.key, unknownMessage)
      const given = await sendFrom(store, 'sent')
      await settleMessage(store, given.key, sent)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({
        events: 1,
        keys: 1,
        messages: 1,
      })

      for (const { eventId } of [unsent, inDoubt])
        expect(await store.operators.findEvent(eventId)).toMatchObject({ payload: 'kept' })
      expect(await store.operators.findEvent(given.eventId)).toBeUndefined()
    })

    test('a message of an event that can run again is kept, so that it is not sent twice', async () => {
      const { store, database } = await openStore(underTest)
      const { eventId, key } = await sendFrom(store, 'again')
      await settleMessage(store, key, sent)
      await makeDead(database.query, store, eventId)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({ messages: 0, events: 0 })
    })

    test('attempts, steps and deliveries may go before the payload', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, retryIn(0))
      await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 3 }])
      await runOne(store, done, { kind: 'again' })

      const short = { attemptsDays: 5, stepsDays: 5, deliveriesDays: 7 }
      expect(await pruneRows(store, limitsIn(6, short))).toMatchObject({
        attempts: 1,
        deliveries: 0,
      })
      expect(await pruneRows(store, limitsIn(8, short))).toMatchObject({ deliveries: 1, events: 0 })

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        failures: [],
        payload: 'kept',
      })
    })

    test('a dead event is kept for ever, or discarded after its days', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      expect(await pruneRows(store, limitsIn(10_000))).toMatchObject({ discarded: 0, events: 0 })
      expect(await pruneRows(store, limitsIn(20, { deadDays: 14 }))).toMatchObject({
        discarded: 1,
        events: 0,
      })

      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'discarded' })
      expect(await act(store, 'retry', eventId)).toMatchObject({ status: 'refused' })
      expect(await recordOne(store, anEventDraft())).toEqual({ status: 'duplicate', eventId })
      expect(await pruneRows(store, limitsIn(31, { deadDays: 14 }))).toMatchObject({ events: 1 })
    })

    test('what operators did goes after its own time, and the runs they asked for with the payload', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      await act(store, 'replay', eventId)
      await runOne(store, done)

      expect(await pruneRows(store, limitsIn(29))).toMatchObject({ runs: 0, audit: 0 })
      expect(await pruneRows(store, limitsIn(40))).toMatchObject({ events: 1, runs: 1, audit: 0 })
      expect(await pruneRows(store, limitsIn(400, { auditDays: 'forever' }))).toMatchObject({
        audit: 0,
      })
      expect(await pruneRows(store, limitsIn(366))).toMatchObject({ audit: 1 })
      expect(await store.operators.listAudit({ limit: 10 })).toEqual([])
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

    test('a request goes with the last of its events', async () => {
      const { store } = await openStore(underTest)
      const request = Buffer.from('[{"n":1},{"n":2}]')
      const drafts = [1, 2].map((n) =>
        anEventDraft({ key: `part_${n}`, body: `{"n":${n}}`, request }),
      )
      const [, second] = await store.events.record(drafts, { deadlineMs: 60_000 })
      await runOne(store, done)
      assert(second)

      expect(await pruneRows(store, limitsIn(31))).toMatchObject({ events: 1, requests: 0 })
      const kept = await store.operators.findRequest(second.eventId)
      expect(Buffer.from(kept ?? [])).toEqual(request)
      await runOne(store, done)
      expect(await pruneRows(store, limitsIn(31))).toMatchObject({ events: 1, requests: 1 })
    })

    test('P01: when keys go, no process may answer from its memory of them', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      await runOne(store, done)
      const before = await other.events.beat(undefined)

      await pruneRows(store, limitsIn(31))
      expect((await other.events.beat(before.now)).epoch).toBe(before.epoch)
      await pruneRows(store, limitsIn(46))

      expect((await other.events.beat(before.now)).epoch).not.toBe(before.epoch)
    })

    test('P05: a run is taken up by another process, and two at once remove everything once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const drafts = Array.from({ length: 450 }, (_, n) => anEventDraft({ key: `evt_${n}` }))
      await store.events.record(drafts, { deadlineMs: 60_000 })
      for (;;) {
        const group = await store.queue.claim(aClaim({ limit: 1_000 }))
        if (group === undefined) break
        await group.settle(group.events.map(done))
        await group.commit()
      }

      const first = await store.retention.prune('payloads', limitsIn(46), undefined)
      const counts = await Promise.all([
        pruneRows(other, limitsIn(46)),
        pruneRows(store, limitsIn(46)),
      ])
      const rest = await pruneRows(other, limitsIn(46))

      const all = [first.removed, ...counts, rest]
      expect(all.reduce((sum, { events = 0 }) => sum + events, 0)).toBe(450)
      expect(all.reduce((sum, { keys = 0 }) => sum + keys, 0)).toBe(450)
      expect(await store.operators.countEvents()).toBe(0)
    })
  })
}

/** One event in each state, and two that have ended. */
async function recordInEveryState(store: Store<QueryTx>) {
  const ids: Record<string, EventId> = {}
  const drafts: Record<string, ReturnType<typeof anEventDraft>> = {}
  const record = async (name: string, draft = anEventDraft({ key: name })) => {
    drafts[name] = draft
    ids[name] = (await recordOne(store, draft)).eventId
  }
  for (const [name, becomes] of Object.entries({ done, skipped })) {
    await recordOne(store, anEventDraft({ key: name }))
    await runOne(store, becomes)
  }
  await record('dead')
  await runOne(store, dead)
  await record('unhandled')
  await runOne(store, unhandled)
  await record('retry')
  await runOne(store, retryIn(3_600_000))
  await record('conflict', anEventDraft({ key: 'retry', body: '{"amount":2}' }))
  await record('quarantined', anEventDraft({ key: undefined, body: '{"amount":3}' }))
  await record('leased')
  await leaseOne(store)
  await record('ready', anEventDraft({ key: 'ready', type: 'other' }))
  return { ids, drafts }
}

/** An event that is done, with a message to a destination of its own. */
async function sendFrom(store: Store<QueryTx>, key: string) {
  const { eventId } = await recordOne(store, anEventDraft({ key }))
  const group = await claim(store)
  await store.messages.enqueue(group.lend().tx, [aMessageDraft({ key, eventId, destination: key })])
  await group.settle(group.events.map(done))
  assert.deepEqual(await group.commit(), { status: 'committed' })
  return { eventId, key }
}

async function settleMessage(
  store: Store<QueryTx>,
  destination: string,
  becomes: (message: ClaimedMessage) => MessageSettlement,
) {
  const [message] = await claimMessages(store, { destination })
  assert(message)
  await store.messages.settle([becomes(message)])
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
