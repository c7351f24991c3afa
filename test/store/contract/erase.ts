import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { EventId } from '../../../src/model/event.ts'
import type { Settlement } from '../../../src/model/outcome.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { aMessageDraft, anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import {
  A_FAILURE,
  again,
  claimMessages,
  sent,
  unknownMessage,
} from '../../support/outbox-steps.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { DatabaseUnderTest, QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'
import {
  NO_ORDER,
  act,
  claim,
  dead,
  done,
  recordOne,
  retryIn,
  runOne,
  unhandled,
} from '../../support/store-steps.ts'

const MARKER = 'Erika Mustermann'

/** What every store must do to erase an event. */
export function eraseContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: erase`, () => {
    // Where it is encrypted there is no copy to be found before.
    test.skipIf(underTest.encrypts)(
      'P09: leaves no copy in any table, and a redelivery is still a duplicate',
      async () => {
        const { store, database } = await openStore(underTest)
        const draft = aMarkedDraft()
        const { eventId } = await recordOne(store, draft)
        await leaveMarks(store, eventId)
        await leaveStep(database, store, eventId)
        const before = await listMarked(database, store)
        expect(before).toEqual(
          expect.arrayContaining(
            [
              'events',
              'requests',
              'attempts',
              'outcomes',
              'steps',
              'messages',
              'message_outcomes',
              'message_attempts',
            ].map((table) => expect.stringMatching(new RegExp(`${table}$`)) as string),
          ),
        )

        expect(await act(store, 'erase', eventId)).toEqual({
          status: 'done',
          run: 0,
          state: 'done',
        })

        expect(await listMarked(database, store)).toEqual([])
        expect(await recordOne(store, draft)).toEqual({ status: 'duplicate', eventId })
        expect(await store.operators.findEvent(eventId)).toMatchObject({
          source: 'stripe',
          type: 'invoice.paid',
          state: 'done',
          payload: 'erased',
          key: undefined,
          headers: {},
          outcome: { state: 'done', result: undefined },
        })
        expect(await store.operators.findRequest(eventId)).toHaveLength(0)
      },
    )

    test('P09: leaves the other events of the request', async () => {
      const { store } = await openStore(underTest)
      const request = Buffer.from(`[{"name":"${MARKER}"},{"name":"another"}]`)
      const drafts = [MARKER, 'another'].map((name, n) =>
        anEventDraft({ key: `part_${n}`, body: `{"name":"${name}"}`, request }),
      )
      const [first, second] = await store.events.record(drafts, { deadlineMs: 60_000 })
      assert(first && second)
      for (let n = 0; n < 2; n += 1) await runOne(store, done)

      await act(store, 'erase', first.eventId)

      const other = await store.operators.findEvent(second.eventId)
      expect(Buffer.from(other?.body ?? []).toString()).toBe('{"name":"another"}')
      // The bytes of both were in it.
      expect(await store.operators.findRequest(second.eventId)).toBeUndefined()
    })

    test('discards a dead event, which could not run without its bytes', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      expect(await act(store, 'erase', eventId)).toMatchObject({ state: 'discarded' })

      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'discarded',
        reason: undefined,
      })
      expect(await recordOne(store, anEventDraft())).toMatchObject({ status: 'duplicate' })
    })

    test('P09: takes what is left of an event whose payload was pruned', async () => {
      const { store, database } = await openStore(underTest)
      const draft = aMarkedDraft()
      const { eventId } = await recordOne(store, draft)
      await leaveMarks(store, eventId)
      await pruneRows(store, limitsIn(31, { messagesDays: 'forever' }))
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        payload: 'pruned',
        outcome: { result: `"${MARKER}"` },
      })

      const erased = { status: 'done', run: 0, state: 'done' }
      expect(await act(store, 'erase', eventId)).toEqual(erased)

      expect(await listMarked(database, store)).toEqual([])
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        outcome: { state: 'done', result: undefined },
      })
      expect(await recordOne(store, draft)).toEqual({ status: 'duplicate', eventId })
      expect(await act(store, 'erase', eventId)).toEqual(erased)
    })

    test('is refused for an event that can still run', async () => {
      const { store } = await openStore(underTest)
      const waiting = await recordOne(store, anEventDraft({ key: 'later' }))
      await runOne(store, retryIn(3_600_000))
      const parked = await recordOne(store, anEventDraft({ key: 'parked' }))
      await runOne(store, unhandled)
      const running = await recordOne(store, anEventDraft({ key: 'running' }))
      await leaseOne(store)

      const codes = [
        [waiting.eventId, 'EVENT_READY'],
        [parked.eventId, 'EVENT_UNHANDLED'],
        [running.eventId, 'EVENT_RUNNING'],
      ] as const
      for (const [eventId, code] of codes)
        expect(await act(store, 'erase', eventId)).toEqual({ status: 'refused', code })
      expect(await store.operators.findEvent(waiting.eventId)).toMatchObject({ payload: 'kept' })
    })

    test('is refused while a message is unsent, or may have been', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const group = await claim(store)
      await store.messages.enqueue(group.lend().tx, [aMessageDraft({ eventId })])
      await group.settle(group.events.map(done))
      await group.commit()
      const unsent = { status: 'refused', code: 'MESSAGE_UNSENT' }

      expect(await act(store, 'erase', eventId)).toEqual(unsent)
      const [message] = await claimMessages(store)
      assert(message)
      await store.messages.settle([unknownMessage(message)])
      expect(await act(store, 'erase', eventId)).toEqual(unsent)
      await store.messages.decide('discardMessage', message.id, NO_ORDER)
      expect(await act(store, 'erase', eventId)).toMatchObject({ status: 'done' })
    })

    test('P09: two clicks with one token erase once, and the audit has it once', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      const order = { actor: 'kim', reason: 'asked by mail', token: 'click-1' }

      const clicks = Array.from({ length: 5 }, () => act(store, 'erase', eventId, order))
      const acted = await Promise.all(clicks)

      expect(new Set(acted.map((each) => JSON.stringify(each))).size).toBe(1)
      const subject = { kind: 'event', id: eventId } as const
      expect(await store.operators.listAudit({ subject, limit: 10 })).toMatchObject([
        { action: 'erase', ...order, outcome: { status: 'done', state: 'done' } },
      ])
    })
  })
}

function aMarkedDraft() {
  const body = JSON.stringify({ name: MARKER })
  return anEventDraft({
    key: `evt ${MARKER}`,
    body,
    request: Buffer.from(`[${body}, {}]`),
    headers: { 'content-type': 'application/json', 'x-name': MARKER },
  })
}

/** In everything that is kept of an event. */
async function leaveMarks(store: Store<QueryTx>, eventId: EventId): Promise<void> {
  await runOne(store, failMarked)
  const group = await claim(store, { kind: 'again' })
  await store.messages.enqueue(group.lend().tx, [
    aMessageDraft({ eventId, body: Buffer.from(MARKER), headers: { 'x-name': MARKER } }),
  ])
  await group.settle(group.events.map((event) => ({ ...done(event), result: `"${MARKER}"` })))
  assert.deepEqual(await group.commit(), { status: 'committed' })

  const response = { status: 500, head: `x: ${MARKER}`, body: Buffer.from(MARKER) }
  const [first] = await claimMessages(store)
  assert(first)
  await store.messages.settle([
    again(first, { failure: { ...A_FAILURE, message: MARKER, response } }),
  ])
  const [second] = await claimMessages(store)
  assert(second)
  await store.messages.settle([
    { ...sent(second), state: 'sent', response: { ...response, status: 200 } },
  ])
}

/** As a step handler of an earlier release of the user's code would have left it. */
async function leaveStep(
  { query }: DatabaseUnderTest,
  { engine }: Store<QueryTx>,
  eventId: EventId,
): Promise<void> {
  const postgres = engine === 'postgres'
  await query(
    `insert into ${postgres ? 'hookonce.' : 'hookonce_'}steps
            (event_id, run, handler, position, kind, name, state, started_at, result)
     values ($1, 0, 'ship', 0, 'call', 'label', 'done', ${postgres ? 'now()' : '0'}, $2)`,
    [eventId, JSON.stringify({ to: MARKER })],
  )
}

function failMarked(event: ClaimedEvent): Settlement {
  const { failure, ...settlement } = retryIn(0)(event)
  const texts = { message: MARKER, stack: `at ${MARKER}`, cause: MARKER, handler: 'charge' }
  return { ...settlement, failure: { ...failure, ...texts } }
}

/** The tables in which the marker stands somewhere, as a text or as bytes. */
async function listMarked(
  database: DatabaseUnderTest,
  { engine }: Store<QueryTx>,
): Promise<readonly string[]> {
  const tables = await database.query(
    engine === 'postgres'
      ? `select 'hookonce.' || relname as name from pg_class
          where relnamespace = 'hookonce'::regnamespace and relkind in ('r', 'p') and not relispartition`
      : `select name from sqlite_schema where type = 'table' and name like 'hookonce_%'`,
  )
  assert(tables.length > 15)
  const marked: string[] = []
  for (const { name } of tables) {
    const rows = await database.query(`select * from ${String(name)}`)
    if (rows.some((row) => Object.values(row).some(hasMarker))) marked.push(String(name))
  }
  return marked
}

function hasMarker(value: unknown): boolean {
  if (value instanceof Uint8Array || value instanceof ArrayBuffer)
    return Buffer.from(value as Uint8Array).includes(MARKER)
  return String(value).includes(MARKER)
}
