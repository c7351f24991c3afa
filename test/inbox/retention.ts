import assert from 'node:assert/strict'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { BackfillClient } from '../../src/backfill/index.ts'
import { bindOperator } from '../../src/admin/bind-operator.ts'
import { BulkRunner } from '../../src/admin/bulk-runner.ts'
import { createOperator } from '../../src/admin/create-operator.ts'
import type { Operator } from '../../src/admin/operator.ts'
import { DailyPrune } from '../../src/retention/daily-prune.ts'
import { NOTHING_REMOVED, prune } from '../../src/retention/prune.ts'
import { HappeningEmitter } from '../../src/telemetry/emitter.ts'
import { sign } from '../../src/testing/index.ts'
import { openInbox, SECRET, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { policyIn } from '../support/retention-steps.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const ORDER = { reason: 'no test waits for a month', actor: 'kim', token: undefined }
const FORCED = { force: true, order: ORDER }

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
      const ran: string[] = []
      inbox.on('stripe', '*', ({ key }) => {
        ran.push(key)
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
      expect(await deliverFrom(inbox, 'evt_old', new Date())).toMatchObject({ status: 200 })
      expect(await store.operators.listEventsByKey('stripe', 'evt_old')).toMatchObject([
        { state: 'quarantined', reason: 'stale' },
      ])
      // The same asked for in the other way.
      await inbox.backfill('stripe', { from: tells('evt_told'), since: new Date(0) })
      expect(await store.operators.listEventsByKey('stripe', 'evt_told')).toMatchObject([
        { state: 'quarantined', reason: 'stale' },
      ])
      // One from after that time runs as ever.
      await deliverFrom(inbox, 'evt_later', new Date(Date.now() + 10 * 86_400_000))
      await expect.poll(() => ran).toContain('evt_later')
      expect(ran.filter((key) => key === 'evt_old')).toHaveLength(1)
      expect(ran).not.toContain('evt_told')
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

      expect(refused).toMatchObject({
        status: 'refused',
        code: 'PRUNE_UNUSUAL',
        excess: expect.stringMatching(/5 of 5 .* 60 days ago/) as string,
      })
      expect(told).toMatchObject([{ name: 'retention.stopped' }])
      expect(await store.operators.countEvents()).toBe(5)

      expect(await prune({ store, policy: policyIn(60), happenings }, FORCED)).toMatchObject({
        status: 'done',
        removed: { events: 5, keys: 5, outcomes: 5 },
      })
      expect(told.at(-1)).toMatchObject({ name: 'retention.pruned', reason: ORDER.reason })
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
      const looks = [0, 0]
      const processes = [store, await second()].map(({ retention }, at) => {
        const findLastRun = async () => {
          looks[at] = (looks[at] ?? 0) + 1
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
      await expect.poll(() => store.operators.countEvents()).toBe(0)
      expect(JSON.parse((await store.retention.findPolicy()) ?? '')).toEqual(policyIn(60))
      // A process looks again when its own run has ended.
      await expectLooks(looks, 1)
      // One that could not get at the database tells nothing of what it removed before.
      expect(pruned.reduce((sum, events) => sum + events, 0)).toBeLessThanOrEqual(3)
      // By this policy it is old at once, but today's run was made.
      const later = untilDone(inbox, 1)
      // By its sender's clock after all that was pruned: from before the oldest key it would be quarantined. By this
      // policy that is in fifteen days, which this process hears of with its next heartbeat.
      const answer = await deliverFrom(inbox, 'later', new Date(Date.now() + 30 * 86_400_000))
      expect(answer).toMatchObject({ outcome: 'accepted', status: 200 })
      await later
      await expectLooks(looks, 2)
      expect(await store.operators.countEvents()).toBe(1)
    })

    test('a run that a person asks for says what it removed', async () => {
      const { inbox } = await openInbox(underTest)

      expect(await inbox.admin.prune()).toMatchObject({
        status: 'done',
        removed: { events: 0, keys: 0, messages: 0, partitions: 0 },
      })
    })

    test('an operator without an inbox is told that nothing says how long things are kept', async () => {
      const { database } = await openInbox(underTest)
      const operator = createOperator({ store: database.newStore() })
      onTestFinished(() => operator.close())

      expect(await operator.prune()).toEqual({
        status: 'refused',
        code: 'RETENTION_UNKNOWN',
        reason: expect.any(String) as string,
        instead: expect.stringContaining('inbox.admin.prune()') as string,
        removed: NOTHING_REMOVED,
      })
    })

    test('how long things are kept is known to others as soon as an inbox was started, run or pruned', async () => {
      const { inbox, database, store, another } = await openInbox(underTest)
      const operator = createOperator({ store: database.newStore() })
      onTestFinished(() => operator.close())
      const { retention } = store

      await another({ worker: false }).admin.prune()
      expect(await operator.prune()).toMatchObject({ status: 'done' })

      const kept = async (): Promise<unknown> => JSON.parse((await retention.findPolicy()) ?? '')
      await retention.keepPolicy(JSON.stringify(policyIn(3)))
      await another().runDue({ budgetMs: 60_000 })
      expect(await kept()).toEqual(policyIn(0))

      await retention.keepPolicy(JSON.stringify(policyIn(3)))
      await inbox.start()
      await expect.poll(kept).toEqual(policyIn(0))
    })

    test('a forced run is in the audit once, with what it removed, however often it is asked for', async () => {
      const opened = await openInbox(underTest)
      const { inbox, store, database, deliver } = opened
      inbox.on('stripe', '*', () => {})
      const done = untilDone(inbox, 5)
      await inbox.start()
      for (let n = 0; n < 5; n += 1) await deliver(`evt_${n}`)
      await done
      await setLastRun(database.query, store.engine, Date.now() - 60 * 86_400_000)
      const admin = operatorIn(60, underTest, opened)
      const order = { reason: 'retention was longer', actor: 'kim', token: 'prune-1' }

      expect(await admin.prune(order)).toMatchObject({
        status: 'refused',
        code: 'PRUNE_UNUSUAL',
        reason: expect.stringMatching(/5 of 5 .* 60 days ago/) as string,
        instead: expect.stringContaining('force: true') as string,
        removed: { events: 0 },
      })
      expect(await admin.listAudit()).toEqual([])

      const first = await admin.prune({ ...order, force: true })
      const second = await admin.prune({ ...order, force: true })

      expect(first).toMatchObject({ status: 'done', removed: { events: 5, keys: 5 } })
      expect(second).toEqual(first)
      expect(await admin.listAudit()).toMatchObject([
        {
          action: 'prune',
          subject: { kind: 'retention', id: 'all' },
          ...order,
          outcome: { status: 'done', removed: { events: 5, keys: 5 } },
        },
      ])
      const { token } = order
      expect(await admin.pause({ source: 'stripe' }, { token })).toMatchObject({
        code: 'TOKEN_USED',
      })
      await admin.pause({ source: 'stripe' }, { token: 'pause-1' })
      expect(await admin.prune({ token: 'pause-1' })).toMatchObject({
        status: 'refused',
        code: 'TOKEN_USED',
      })
    })

    test('a forced run that was interrupted goes on under its token', async () => {
      const { inbox, store } = await openInbox(underTest)
      const order = { reason: 'why', actor: 'kim', token: 'prune-2' }
      expect(await store.retention.beginOrdered(order)).toMatchObject({ status: 'begun' })
      expect(await inbox.admin.listAudit()).toMatchObject([{ outcome: { status: 'begun' } }])

      expect(await inbox.admin.prune({ ...order, force: true })).toMatchObject({ status: 'done' })

      expect(await inbox.admin.listAudit()).toMatchObject([
        { ...order, outcome: { status: 'done', removed: { events: 0 } } },
      ])
    })

    test.each([
      ['prune', [{ force: true }], '.reason'],
      ['prune', [{ force: 'yes', reason: 'why' }], '.force'],
      ['prune', [{ signal: undefined }], '.signal'],
      ['prune', [null], ''],
      ['erase', ['x'], '.reason'],
      ['erase', ['x', { reason: 'why', source: 'stripe' }], '.source'],
      ['eraseWhere', [{ path: '$.a', equals: 1 }], '.reason'],
      ['eraseWhere', [{ path: '$.a', equals: 1 }, { reason: 'why' }], '.source'],
      ['eraseWhere', [null, { reason: 'why', source: 's' }], ''],
      [
        'eraseWhere',
        [
          { path: 'a', equals: 1 },
          { reason: 'why', source: 's' },
        ],
        '.where.path',
      ],
      [
        'eraseWhere',
        [
          { path: '$.a', equals: '' },
          { reason: 'why', source: 's' },
        ],
        '.where.equals',
      ],
      [
        'eraseWhere',
        [
          { path: '$.a', equals: null },
          { reason: 'why', source: 's' },
        ],
        '.where.equals',
      ],
    ] as const)('%s refuses %j by name', async (name, args, option) => {
      const { inbox } = await openInbox(underTest)
      const act = inbox.admin[name] as (...given: unknown[]) => Promise<unknown>

      await expect(act(...args)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        option: `admin.${name}${option}`,
      })
    })

    test('P09: an event is erased by a person, with a reason', async () => {
      const { inbox, deliver, next } = await openInbox(underTest)
      inbox.on('stripe', '*', () => {})
      const done = next('event.done')
      await inbox.start()
      await deliver('evt_1')
      const { eventId } = await done
      const acted = next('operator.acted')

      expect(await inbox.admin.erase(eventId, { reason: 'asked by mail', actor: 'kim' })).toEqual({
        status: 'done',
        eventId,
        run: 0,
        state: 'done',
      })

      expect(await acted).toEqual({
        action: 'erase',
        subject: { kind: 'event', id: eventId },
        reason: 'asked by mail',
        actor: 'kim',
      })
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

      const where = { path: '$.customer.id', equals: 'cus_7' }
      const order = { reason: 'asked by mail', actor: 'kim', token: 't'.repeat(200) }
      const [one, two] = await Promise.all([
        inbox.admin.eraseWhere(where, { source: 'pings', ...order }),
        inbox.admin.eraseWhere(where, { source: 'pings', ...order }),
      ])

      expect(Math.max(one.erased, two.erased)).toBe(10)
      for (const result of [one, two])
        expect(result).toMatchObject({ status: 'done', lookedAt: 131, refused: [] })
      const audit = await inbox.admin.listAudit({ limit: 1_000 })
      expect(audit).toHaveLength(10)
      for (const { action, subject, actor, token } of audit)
        expect({ action, actor, token }).toEqual({
          action: 'erase',
          actor: 'kim',
          token: `${order.token} ${subject.id}`,
        })
      const other = { source: 'stripe', reason: 'asked by mail' }
      expect(await inbox.admin.eraseWhere(where, other)).toMatchObject({ erased: 0 })
      const again = await inbox.admin.eraseWhere(where, { source: 'pings', reason: 'once more' })
      expect(again).toMatchObject({ erased: 0, lookedAt: 131 })
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
        refused: [{ code: 'EVENT_READY', instead: expect.stringContaining('discard') }],
      })
    })
  })
}

/** Every process has looked so many times more. */
async function expectLooks(looks: readonly number[], times: number): Promise<void> {
  const before = [...looks]
  await expect.poll(() => looks.every((count, at) => count >= (before[at] ?? 0) + times)).toBe(true)
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

/** An operator to whom everything is as old as it will be in so many days. */
function operatorIn(
  days: number,
  { operate = ({ admin }) => admin }: StoreUnderTest,
  { store }: Pick<InboxUnderTest, 'store'>,
): Operator {
  const admin = bindOperator({
    store,
    open: async () => {},
    onForgotten: () => {},
    onDue: () => {},
    onSendable: () => {},
    onPausesChanged: () => {},
    onActed: () => {},
    bulkRunner: new BulkRunner(),
    retention: policyIn(days),
  })
  return operate({ admin })
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
