import assert from 'node:assert/strict'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { BackfillClient } from '../../src/backfill/index.ts'
import { DailyPrune } from '../../src/retention/daily-prune.ts'
import { prune } from '../../src/retention/prune.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { sign } from '../../src/testing/index.ts'
import { openInbox, SECRET, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { policyIn } from '../support/retention-steps.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const FORCED = { force: true, reason: 'no test waits for a month' }

/** What an inbox forgets, and what it does not. Run by `test/inbox/<store>.test.ts`. */
export function retentionContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: retention`, () => {
    test('P02: a redelivery after its payload is gone is answered with the kept result', async () => {
      const { inbox, store, deliver } = await openInbox(underTest, {
        source: { acknowledge: 'processed' },
      })
      inbox.on('stripe', '*', () => ({ paid: true }))
      await inbox.start()
      const first = await deliver('evt_1')
      expect(first).toMatchObject({ status: 200 })

      const result = await prune({ store, policy: policyIn(40) }, FORCED)
      expect(result).toMatchObject({ status: 'done', removed: { events: 1, keys: 0 } })

      const again = await deliver('evt_1')
      expect(again.status).toBe(200)
      expect(JSON.parse(again.body)).toMatchObject({
        status: 'duplicate',
        result: { paid: true },
      })
    })

    test('P03: what happened before the time of the oldest keys is kept for a person', async () => {
      const { inbox, store, next } = await openInbox(underTest)
      let runs = 0
      inbox.on('stripe', '*', () => {
        runs += 1
      })
      await inbox.start()
      const done = untilDone(inbox, 1)
      await deliverFrom(inbox, 'evt_old', new Date())
      await done

      // No key was ever dropped: whatever the sender's time, what is not known is new.
      const ancient = untilDone(inbox, 1)
      await deliverFrom(inbox, 'evt_ancient', new Date(0))
      await ancient

      await prune({ store, policy: policyIn(46) }, FORCED)
      const stale = next('delivery.quarantined')
      await deliverUntilStale(inbox, stale)

      expect(await stale).toMatchObject({ reason: 'stale' })
      const before = runs
      expect(await deliverFrom(inbox, 'evt_old', new Date())).toMatchObject({ status: 200 })
      expect(await store.operators.listEventsByKey('stripe', 'evt_old')).toMatchObject([
        { state: 'quarantined', reason: 'stale' },
      ])
      // The same through the other door.
      await inbox.backfill('stripe', { from: tells('evt_told'), since: new Date(0) })
      expect(await store.operators.listEventsByKey('stripe', 'evt_told')).toMatchObject([
        { state: 'quarantined', reason: 'stale' },
      ])
      // One from after that time runs as ever.
      const later = untilDone(inbox, 1)
      await deliverFrom(inbox, 'evt_later', new Date(Date.now() + 10 * 86_400_000))
      await later
      expect(runs).toBe(before + 1)
    })

    test('P07: a run that would remove far more than usual stops, says so, and asks', async () => {
      const { inbox, store, database, deliver } = await openInbox(underTest)
      inbox.on('stripe', '*', () => {})
      const done = untilDone(inbox, 5)
      await inbox.start()
      for (let n = 0; n < 5; n += 1) await deliver(`evt_${n}`)
      await done
      await setLastRun(database.query, store.engine, Date.now() - 60 * 86_400_000)
      const happenings = new HappeningEmitter()
      const told: unknown[] = []
      happenings.onAny((name, happening) => told.push({ name, ...happening }))

      const refused = await prune({ store, policy: policyIn(60), happenings })

      expect(refused).toMatchObject({ status: 'refused', code: 'PRUNE_UNUSUAL' })
      expect(refused).toMatchObject({ reason: expect.stringMatching(/5 of 5 .* 60 days ago/) })
      expect(refused).toMatchObject({ instead: expect.stringContaining('force: true') })
      expect(told).toMatchObject([{ name: 'retention.stopped' }])
      expect(await store.operators.countEvents()).toBe(5)

      expect(await prune({ store, policy: policyIn(60), happenings }, FORCED)).toMatchObject({
        status: 'done',
        removed: { events: 5, keys: 5, outcomes: 5 },
      })
      expect(told.at(-1)).toMatchObject({ name: 'retention.pruned', reason: FORCED.reason })
      expect(await store.operators.countEvents()).toBe(0)
    })

    test('the daily run is made once for all processes, and not again on the same day', async () => {
      const { store, second, inbox, deliver, database } = await openInbox(underTest)
      inbox.on('stripe', '*', () => {})
      const done = untilDone(inbox, 3)
      await inbox.start()
      for (const key of ['a', 'b', 'c']) await deliver(key)
      await done
      await setLastRun(database.query, store.engine, Date.now() - 25 * 3_600_000)
      const happenings = new HappeningEmitter()
      const pruned: number[] = []
      happenings.on('retention.pruned', ({ events }) => pruned.push(events))
      const context = { policy: policyIn(60), happenings, lookMs: 5 }
      let looks = 0
      const processes = [store, await second()].map(({ retention }) => {
        const findLastRun = async () => {
          looks += 1
          return retention.findLastRun()
        }
        return new DailyPrune({ ...context, store: { retention: { ...retention, findLastRun } } })
      })
      onTestFinished(async () => {
        await Promise.all(processes.map((one) => one.stop()))
      })
      for (const one of processes) one.start()

      const sinceLastRun = async () => Date.now() - (await store.retention.findLastRun()).lastMs
      await expect.poll(sinceLastRun).toBeLessThan(3_600_000)
      await expect.poll(() => pruned.reduce((sum, events) => sum + events, 0)).toBe(3)
      expect(JSON.parse((await store.retention.findPolicy()) ?? '')).toEqual(policyIn(60))
      // By this policy it is old at once, but today's run was made.
      const later = untilDone(inbox, 1)
      await deliver('later')
      await later
      const before = looks
      await expect.poll(() => looks).toBeGreaterThan(before + 4)
      expect(await store.operators.countEvents()).toBe(1)
    })

    test('a run that a person asks for says what it removed', async () => {
      const { inbox } = await openInbox(underTest)

      expect(await inbox.admin.prune()).toMatchObject({
        status: 'done',
        removed: { events: 0, keys: 0, messages: 0, partitions: 0 },
      })
    })

    test('P09: an event is erased by a person, with a reason', async () => {
      const { inbox, deliver, next } = await openInbox(underTest)
      inbox.on('stripe', '*', () => {})
      const done = next('event.done')
      await inbox.start()
      await deliver('evt_1')
      const { eventId } = await done
      const erased = next('event.erased')

      expect(await inbox.admin.erase(eventId, { reason: 'asked by mail', actor: 'kim' })).toEqual({
        status: 'done',
        eventId,
      })

      expect(await erased).toEqual({ eventId, reason: 'asked by mail', actor: 'kim' })
      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ payload: 'erased' })
      expect(await inbox.admin.erase('nothing', { reason: 'why' })).toMatchObject({
        status: 'refused',
        code: 'EVENT_UNKNOWN',
      })
    })

    test('P09: all events with a value at a path are erased, and the others kept', async () => {
      const { inbox, deliverBytes } = await openInbox(underTest)
      inbox.on('pings', '*', () => {})
      const done = untilDone(inbox, 130)
      await inbox.start()
      await Promise.all(
        Array.from({ length: 130 }, (_, n) =>
          deliverBytes(`evt_${n}`, JSON.stringify({ customer: { id: `cus_${n % 13}` }, n })),
        ),
      )
      await done
      const waiting = await deliverBytes('evt_form', 'no JSON at all')
      assert.equal(waiting.status, 200)

      const result = await inbox.admin.eraseWhere(
        { path: '$.customer.id', equals: 'cus_7' },
        { source: 'pings', reason: 'asked by mail' },
      )

      expect(result).toEqual({ status: 'done', erased: 10, lookedAt: 131, refused: [] })
      const again = await inbox.admin.eraseWhere(
        { path: '$.customer.id', equals: 'cus_7' },
        { source: 'pings', reason: 'asked by mail' },
      )
      expect(again).toMatchObject({ erased: 0, lookedAt: 121 })
      expect(await inbox.admin.listEventsByKey('pings', 'evt_8')).toMatchObject([
        { payload: 'kept' },
      ])
      expect(await inbox.admin.listEventsByKey('pings', 'evt_7')).toEqual([])
    })

    test('an event that could not be erased is named, with what to do', async () => {
      const { inbox, deliverBytes } = await openInbox(underTest, { worker: false })
      await deliverBytes('evt_1', '{"customer":9007199254740993}')

      expect(
        await inbox.admin.eraseWhere(
          { path: '$.customer', equals: '9007199254740993' },
          { source: 'pings', reason: 'asked by mail' },
        ),
      ).toMatchObject({
        erased: 0,
        refused: [{ code: 'EVENT_READY', instead: expect.stringContaining('Discard') }],
      })
    })
  })
}

/** A signed event that happened then, by its sender's clock. */
function deliverFrom(inbox: Receiver, key: string, at: Date) {
  const type = 'invoice.paid'
  const created = Math.floor(at.getTime() / 1_000)
  const body = JSON.stringify({ id: key, type, created, livemode: false, data: { object: {} } })
  return inbox.receive('stripe', sign('stripe', { key, type, body }, { secret: SECRET }))
}

/** What the sender's API would tell. */
function tells(key: string): BackfillClient {
  const occurredAt = new Date(Date.now() - 3_600_000)
  const created = Math.floor(occurredAt.getTime() / 1_000)
  const body = JSON.stringify({ id: key, type: 'invoice.paid', created, livemode: false, data: {} })
  const headers = { 'content-type': 'application/json' }
  const load = async () => ({ headers, body: Buffer.from(body) })
  return { list: async () => ({ events: [{ key, type: 'invoice.paid', occurredAt, load }] }) }
}

type Receiver = Pick<InboxUnderTest['inbox'], 'receive'>

/** A process knows it with its next heartbeat. */
async function deliverUntilStale(inbox: Receiver, stale: Promise<unknown>): Promise<void> {
  let isStale = false
  void stale.then(() => (isStale = true))
  await expect
    .poll(async () => {
      await deliverFrom(inbox, `evt_${Math.random()}`, new Date())
      return isStale
    })
    .toBe(true)
}

async function setLastRun(
  query: (sql: string, params?: readonly unknown[]) => Promise<unknown>,
  engine: 'postgres' | 'sqlite',
  atMs: number,
): Promise<void> {
  const table = engine === 'postgres' ? 'hookonce.meta' : 'hookonce_meta'
  const run = JSON.stringify({ atMs, usualEvents: 0, usualKeys: 0 })
  await query(`update ${table} set value = $1 where name = 'prune'`, [run])
}
