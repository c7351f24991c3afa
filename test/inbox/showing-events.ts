import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { createEventFinder } from '../../src/admin/event-finder.ts'
import type { EventFinder } from '../../src/admin/event-finder.ts'
import { deriveIdempotencyKey } from '../../src/model/idempotency-key.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { aMessageDraft, anEventDraft } from '../support/builders.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { limitsIn, pruneRows } from '../support/retention-steps.ts'
import { claim, dead, done, recordOne, retryIn, runOne } from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const UNKNOWN = '00000000-0000-7000-8000-000000000000'

/** How `admin.show` tells the story of an event, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function showingEventsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: showing an event`, () => {
    test('an event that is not here has no story', async () => {
      const { finder } = await open(underTest)

      expect(await finder.show(UNKNOWN)).toBeUndefined()
      expect(await finder.show("'; drop table events --\u0000")).toBeUndefined()
    })

    test('the story has every delivery after the first, by minute', async () => {
      const { store, finder } = await open(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 3 }])

      const story = await finder.show(eventId)

      expect(story?.event).toMatchObject({ id: eventId, state: 'ready', deliveries: 4 })
      // Two where the minute ended between the statements.
      expect(story?.deliveries.reduce((sum, { count }) => sum + count, 0)).toBe(3)
      expect(story?.deliveries[0]).toEqual({
        minute: expect.any(Date) as Date,
        outcome: 'duplicate',
        count: expect.any(Number) as number,
      })
    })

    test('the story has every run, with its failures and how it ended', async () => {
      const { store, finder, query } = await open(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, retryIn(0))
      await runOne(store, dead, { kind: 'again' })
      // As a replay leaves it: another run of the same event.
      await addRun(query, eventId)

      const story = await finder.show(eventId)

      expect(story?.runs).toMatchObject([
        {
          run: 0,
          outcome: { state: 'dead', reason: 'gave up', attempts: 2 },
          failures: [
            { attempt: 1, reason: 'error', message: 'Error: no luck', durationMs: 5 },
            { attempt: 2 },
          ],
          steps: [],
        },
        { run: 1, outcome: { state: 'done' }, failures: [] },
      ])
      expect(story?.event.state).toBe('done')
    })

    test('an event whose payload was pruned still says how it ended', async () => {
      const { store, finder } = await open(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      await pruneRows(store, limitsIn(40))

      const story = await finder.show(eventId)

      expect(story).toMatchObject({
        event: { id: eventId, state: 'done', payload: 'pruned' },
        runs: [{ run: 0, outcome: { state: 'done' }, failures: [], steps: [] }],
        beside: [],
        difference: undefined,
      })
    })

    test('a conflict names the event it is in conflict with, and each shows the other', async () => {
      const { store, finder } = await open(underTest)
      const first = await recordOne(store, anEventDraft())
      const second = await recordOne(store, anEventDraft({ body: '{"amount":2}' }))

      const conflict = await finder.show(second.eventId)
      expect(conflict).toMatchObject({
        event: { state: 'conflict', reason: 'same key, other content' },
        firstEventId: first.eventId,
        beside: [{ event: { id: first.eventId, state: 'ready' }, hasSameBody: false }],
      })
      expect(await finder.show(first.eventId)).toMatchObject({
        firstEventId: undefined,
        beside: [{ event: { id: second.eventId, state: 'conflict' }, hasSameBody: false }],
      })
    })

    test('the story has what was sent, and its idempotency key leads back to the event', async () => {
      const { store, finder } = await open(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const group = await claim(store)
      await store.messages.enqueue(group.lend().tx, [
        aMessageDraft({ eventId, key: 'key_1' }),
        aMessageDraft({ eventId, key: 'key_1', destination: 'mail' }),
        aMessageDraft({ eventId, key: 'key_2' }),
      ])
      await group.settle(group.events.map(done))
      await group.commit()

      const story = await finder.show(eventId)
      expect(story?.messages.map(({ key, state }) => [key, state])).toEqual([
        ['key_1', 'ready'],
        ['key_1', 'ready'],
        ['key_2', 'ready'],
      ])
      expect(story?.hasMoreMessages).toBe(false)
      const found = await finder.findByIdempotencyKey('key_1')
      expect(found.messages.map((message) => [message.destination, message.eventId])).toEqual([
        ['receipts', eventId],
        ['mail', eventId],
      ])
      expect(await finder.findByIdempotencyKey('\u0000\ud800')).toMatchObject({ messages: [] })
    })

    test('the key that a call has sent leads to its step, and the step shows its key', async () => {
      const { inbox, store, deliverUntil } = await openInbox(underTest)
      const sent: string[] = []
      inbox.steps('stripe', 'invoice.paid', { name: 'ship' }, async (_event, step) => {
        await step.call('parcel', ({ idempotencyKey }) => {
          sent.push(idempotencyKey)
          return 'shipped'
        })
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      const [key = ''] = sent

      const uses = await inbox.admin.findByIdempotencyKey(key)
      expect(uses).toEqual({
        messages: [],
        steps: [{ eventId, run: 0, handler: 'ship', name: 'parcel' }],
        lookedAt: 1,
        cursor: undefined,
      })
      const story = await inbox.admin.show(eventId)
      expect(story?.runs[0]?.steps).toMatchObject([
        { name: 'parcel', state: 'done', result: '"shipped"', idempotencyKey: key },
      ])
      expect((await store.search.findStory(eventId))?.keyHash).toHaveLength(64)
    })

    test('steps are looked at 10,000 at a time, and the cursor looks on', async () => {
      const { store, finder, query } = await open(underTest)
      const { eventId: old } = await recordOne(store, anEventDraft({ key: 'old' }))
      const { eventId: recent } = await recordOne(store, anEventDraft({ key: 'recent' }))
      await addSteps(query, { eventId: old, count: 1 })
      await addSteps(query, { eventId: recent, count: 10_000 })
      const keyHash = (await store.search.findStory(old))?.keyHash ?? ''
      const key = deriveIdempotencyKey({ keyHash, handler: 'many', name: 'step 1' })

      const page = await finder.findByIdempotencyKey(key)
      expect(page).toMatchObject({ steps: [], lookedAt: 10_000 })
      const next = await finder.findByIdempotencyKey(key, page.cursor)
      expect(next).toMatchObject({ steps: [{ eventId: old }], lookedAt: 1, cursor: undefined })
    })
  })
}

type Query = (sql: string, params?: readonly unknown[]) => Promise<unknown>

async function open(
  underTest: StoreUnderTest,
): Promise<{ store: Store<QueryTx>; finder: EventFinder; query: Query }> {
  const { store, database } = await openStore(underTest)
  const prefix = store.engine === 'postgres' ? 'hookonce.' : 'hookonce_'
  return {
    store,
    finder: createEventFinder((question) => question(store)),
    query: (sql, params) => database.query(sql.replaceAll('{tables}', prefix), params),
  }
}

async function addRun(query: Query, eventId: string): Promise<void> {
  await query(
    `insert into {tables}outcomes (event_id, run, state, attempts, duration_ms, settled_at)
     select event_id, 1, 'done', 1, 5, settled_at from {tables}outcomes where event_id = $1`,
    [eventId],
  )
}

async function addSteps(
  query: Query,
  { eventId, count }: { readonly eventId: string; readonly count: number },
): Promise<void> {
  assert(count > 0)
  await query(
    `insert into {tables}steps (event_id, run, handler, position, kind, name, state, started_at)
       with recursive n (n) as (select 1 union all select n + 1 from n where n < ${count})
     select id, 0, 'many', n, 'call', 'step ' || n, 'done', received_at
       from n, {tables}events where id = $1`,
    [eventId],
  )
}
