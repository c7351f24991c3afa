import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { createBulkOperator } from '../../src/admin/bulk-operator.ts'
import type { BulkOperator } from '../../src/admin/bulk-operator.ts'
import { BulkRunner } from '../../src/admin/bulk-runner.ts'
import type { BulkEnd } from '../../src/admin/bulk-runner.ts'
import type { BulkPlan } from '../../src/admin/plan-bulk.ts'
import type { Operator } from '../../src/admin/operator.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { aClaim, anEventDraft } from '../support/builders.ts'
import { copyEvent } from '../support/copy-event.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { recordKeys, sort, statesOf } from '../support/lane-steps.ts'
import { act, dead, done, NO_ORDER, recordOne, runOne, skipped } from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const UNKNOWN = '00000000-0000-7000-8000-000000000000'
/** As fast as it goes. */
const FAST = { ratePerSecond: 10_000 }

/** What `admin.bulk` does, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function bulkActionsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: actions on many events`, () => {
    test('a plan counts the events that fit, shows some, and does nothing to them', async () => {
      const { bulk, store } = await open(underTest)
      const ids = await recordDead(store, 12)
      await recordDead(store, 1, 'github')

      const planned = await bulk.plan({ action: 'retry', filter: { source: 'stripe' } })

      expect(planned).toMatchObject({ count: 12, isComplete: true })
      expect(planned.sample.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 10))
      expect(planned.sample[0]).toMatchObject({ state: 'dead', reason: 'gave up' })
      expect(await bulk.find(planned.id)).toMatchObject({
        action: 'retry',
        state: 'planned',
        filter: '{"source":"stripe"}',
        planned: 12,
        done: 0,
        refused: {},
        left: 12,
      })
      expect(await store.operators.listDead({ limit: 100 })).toHaveLength(13)
    })

    test('those that have events left are listed, for a person who has lost their ids', async () => {
      const { bulk, store } = await open(underTest)
      await recordDead(store, 2)
      const plan = { action: 'retry', filter: {}, reason: 'fixed', actor: 'Ada' } as const
      const ended = await bulk.plan(plan)
      await runToEnd(bulk, ended.id)
      expect(await bulk.list()).toEqual([])
      await recordDead(store, 1, 'github')
      const left = await bulk.plan(plan)
      const later = await bulk.plan(plan)

      expect(await bulk.list()).toEqual([await bulk.find(later.id), await bulk.find(left.id)])
      expect(await bulk.list({ limit: 1 })).toMatchObject([{ id: later.id, left: 1, actor: 'Ada' }])
      expect((await bulk.list({ all: true })).map(({ id }) => id)).toEqual([
        later.id,
        left.id,
        ended.id,
      ])
      await bulk.abort(later.id)
      expect(await bulk.list()).toMatchObject([{ id: left.id }])
    })

    test('what was counted is what is acted on, whatever comes to fit later', async () => {
      const { bulk, store } = await open(underTest)
      await recordDead(store, 3)
      const plan: BulkPlan = { action: 'retry', filter: {}, reason: 'fixed', actor: 'Ada' }
      const { id } = await bulk.plan(plan)
      const [later = ''] = await recordDead(store, 1, 'github')

      expect(await runToEnd(bulk, id)).toEqual({ status: 'finished' })

      expect(await bulk.find(id)).toMatchObject({ done: 3, left: 0, reason: 'fixed', actor: 'Ada' })
      expect(await store.operators.listDead({ limit: 100 })).toMatchObject([{ id: later }])
    })

    test('an event whose state has changed since is refused, and says why', async () => {
      const { bulk, store } = await open(underTest)
      const [first = '', second = ''] = await recordDead(store, 3)
      const { id } = await bulk.plan({ action: 'retry', filter: {} })
      await act(store, 'retry', first)
      await runOne(store, done)
      await act(store, 'retry', second)

      await runToEnd(bulk, id)

      expect(await bulk.find(id)).toMatchObject({
        done: 1,
        refused: { EVENT_DONE: 1, EVENT_READY: 1 },
        left: 0,
      })
    })

    test('a double click makes one bulk, and who has run it is kept', async () => {
      const { bulk, store } = await open(underTest)
      await recordDead(store, 3)
      const plan = { action: 'retry', filter: { source: 'stripe' }, token: 'click 1' } as const

      const [one, two] = await Promise.all([bulk.plan(plan), bulk.plan(plan)])
      const again = await bulk.plan(plan)

      expect(two).toEqual(one)
      expect(again).toEqual(one)
      expect(one.count).toBe(3)
      expect(await bulk.list({ all: true })).toHaveLength(1)
      await expect(bulk.plan({ ...plan, filter: {} })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        option: 'admin.bulk.plan.token',
      })
      const run = await bulk.run(one.id, { actor: 'grace', reason: 'now', token: 'click 2' })
      await bulk.run(one.id, { actor: 'grace', reason: 'now', token: 'click 2' })
      if (run.status === 'done') await run.ended
      const subject = { kind: 'bulk', id: one.id } as const
      expect(await store.operators.listAudit({ subject, limit: 9 })).toMatchObject([
        { action: 'bulk.run', actor: 'grace', reason: 'now', token: 'click 2' },
        { action: 'bulk.plan', actor: undefined, token: 'click 1' },
      ])
      expect(await bulk.find(one.id)).toMatchObject({ done: 3 })
    })

    test('forgets what has ended, and what is done only where it is named', async () => {
      const { bulk, store } = await open(underTest)
      await recordOne(store, anEventDraft({ key: 'done' }))
      await runOne(store, done)
      await recordDead(store, 2)
      const why = { action: 'forget', reason: 'the sender sends them again' } as const

      const { id, count } = await bulk.plan({ ...why, filter: {} })
      await runToEnd(bulk, id)

      expect(count).toBe(2)
      expect(await bulk.find(id)).toMatchObject({ done: 2, refused: {}, left: 0 })
      expect(await recordOne(store, anEventDraft({ key: 'done' }))).toMatchObject({
        status: 'duplicate',
      })
      expect((await bulk.plan({ ...why, filter: { state: 'done' } })).count).toBe(1)
    })

    test('an event that dies again is not acted on again, however often the bulk is run', async () => {
      const { bulk, store } = await open(underTest)
      const [eventId = ''] = await recordDead(store, 1)
      const { id } = await bulk.plan({ action: 'retry', filter: {} })

      await runToEnd(bulk, id)
      await runOne(store, dead)
      await runToEnd(bulk, id)
      await runToEnd(bulk, id)

      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'dead' })
      expect(await bulk.find(id)).toMatchObject({ done: 1, left: 0 })
    })

    test('Y04: several runners at once act on each event once', async () => {
      const { bulk, store, another } = await open(underTest)
      await recordDead(store, 30)
      const { id } = await bulk.plan({ action: 'retry', filter: {} })
      const others = [await another(), await another()]

      const runs = [bulk, ...others].map((runner) => runToEnd(runner, id))
      await Promise.all(runs)
      // One that found the last events in the hands of others has ended before them.
      await runToEnd(bulk, id)

      expect(await bulk.find(id)).toMatchObject({ done: 30, refused: {}, left: 0 })
    })

    test('a bulk that is aborted does nothing more, in no process', async () => {
      const { bulk, store, another } = await open(underTest)
      await recordDead(store, 60)
      const { id } = await bulk.plan({ action: 'retry', filter: {} })
      const run = await bulk.run(id, { ratePerSecond: 1 })
      assert(run.status === 'done')

      expect(await bulk.abort(id)).toEqual({ status: 'done' })

      const { left = 0 } = (await bulk.find(id)) ?? {}
      expect(left).toBeGreaterThan(0)
      expect(await store.bulks.actOnNext(id)).toEqual({ status: 'none' })
      expect(await (await another()).run(id)).toMatchObject({
        status: 'refused',
        code: 'BULK_ABORTED',
      })
      expect(await bulk.abort(id)).toMatchObject({ status: 'refused', code: 'BULK_ABORTED' })
      expect(await bulk.find(id)).toMatchObject({ state: 'aborted', left })
    })

    test('an abort is in the audit with who and why, and a second click is the same abort', async () => {
      const { bulk, store } = await open(underTest)
      await recordDead(store, 1)
      const { id } = await bulk.plan({ action: 'retry', filter: {} })
      const order = { actor: 'ada', reason: 'too many', token: 'click-1' }

      expect(await bulk.abort(id, order)).toEqual({ status: 'done' })
      expect(await bulk.abort(id, order)).toEqual({ status: 'done' })

      expect(await store.operators.listAudit({ limit: 10 })).toMatchObject([
        { action: 'bulk.abort', subject: { kind: 'bulk', id }, ...order },
        { action: 'bulk.plan', subject: { kind: 'bulk', id } },
      ])
    })

    test('many events are discarded: those that stopped, and others only by name', async () => {
      const { bulk, store } = await open(underTest)
      const gone = await recordDead(store, 3)
      const { eventId: parked } = await recordOne(
        store,
        anEventDraft({ key: 'parked', quarantine: 'no key', body: '1' }),
      )
      const { eventId: ready } = await recordOne(store, anEventDraft({ key: 'ready' }))
      const plan: BulkPlan = { action: 'discard', filter: {}, reason: 'a test run', actor: 'ada' }

      const { id, count } = await bulk.plan(plan)
      await runToEnd(bulk, id)

      expect(count).toBe(4)
      expect(await bulk.find(id)).toMatchObject({ action: 'discard', done: 4, left: 0 })
      for (const eventId of [...gone, parked])
        expect(await store.operators.findEvent(eventId)).toMatchObject({
          state: 'discarded',
          reason: 'a test run',
        })
      expect(await store.operators.findEvent(ready)).toMatchObject({ state: 'ready' })
      const subject = { kind: 'event', id: parked } as const
      expect(await store.operators.listAudit({ subject, limit: 10 })).toMatchObject([
        { action: 'discard', actor: 'ada', reason: 'a test run' },
      ])
      const named = await bulk.plan({ ...plan, filter: { state: 'ready' } })
      expect(named).toMatchObject({ count: 1, sample: [{ id: ready }] })
    })

    test('many conflicts and quarantined events are released, each to run once', async () => {
      const { bulk, store } = await open(underTest)
      await recordOne(store, anEventDraft({ key: 'first' }))
      await runOne(store, done)
      await recordOne(store, anEventDraft({ key: 'first', body: '{"other":1}' }))
      await recordOne(store, anEventDraft({ key: '', quarantine: 'no key', body: '{"none":1}' }))

      const { id, count } = await bulk.plan({ action: 'release', filter: {}, reason: 'ours' })
      await runToEnd(bulk, id)
      await runToEnd(bulk, id)

      expect(count).toBe(2)
      expect(await bulk.find(id)).toMatchObject({ done: 2, refused: {}, left: 0 })
      await runOne(store, done)
      await runOne(store, done)
      expect(await store.queue.claim(aClaim())).toBeUndefined()
    })

    test('many events are replayed that were not applied, and no other unless it is asked for', async () => {
      const { bulk, store } = await open(underTest)
      await recordOne(store, anEventDraft({ key: 'done' }))
      const applied = await runOne(store, done)
      await recordOne(store, anEventDraft({ key: 'skipped' }))
      const without = await runOne(store, skipped)
      const plan: BulkPlan = { action: 'replay', filter: {}, reason: 'rows were lost', actor: 'bo' }

      const safe = await bulk.plan(plan)
      expect(safe).toMatchObject({ count: 1, sample: [{ id: without }] })
      await runToEnd(bulk, safe.id)

      expect(await bulk.find(safe.id)).toMatchObject({
        terms: { freshKeys: false, onlyIfNotApplied: true },
        done: 1,
      })
      expect(await store.operators.listRuns(without)).toMatchObject([
        { run: 1, freshKeys: false, reason: 'rows were lost', actor: 'bo' },
      ])
      expect(await store.operators.listRuns(applied)).toEqual([])
      await runOne(store, done)

      const filter = { state: 'done', source: 'stripe' } as const
      const all = { ...plan, filter, onlyIfNotApplied: false, freshKeys: true }
      const { id, count } = await bulk.plan(all)
      await runToEnd(bulk, id)
      await runToEnd(bulk, id)

      expect(count).toBe(2)
      expect(await bulk.find(id)).toMatchObject({ terms: { freshKeys: true }, done: 2, left: 0 })
      expect(await store.operators.listRuns(applied)).toMatchObject([{ run: 1, freshKeys: true }])
      expect(await store.operators.listRuns(without)).toMatchObject([
        { run: 1 },
        { run: 2, freshKeys: true },
      ])
    })

    test('what was applied since the plan is refused, and says why', async () => {
      const { bulk, store } = await open(underTest)
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, skipped)
      const { id } = await bulk.plan({ action: 'replay', filter: {}, reason: 'rows were lost' })
      await act(store, 'replay', eventId)
      await runOne(store, done)

      await runToEnd(bulk, id)

      expect(await bulk.find(id)).toMatchObject({ done: 0, refused: { EVENT_APPLIED: 1 } })
      expect(await store.operators.listRuns(eventId)).toHaveLength(1)
    })

    test.each(['discard', 'replay'] as const)(
      'Y04: several runners at once do %s to each event once',
      async (action) => {
        const { bulk, store, another } = await open(underTest)
        const ids = await recordDead(store, 20)
        if (action === 'replay') for (const eventId of ids) await act(store, 'discard', eventId)
        const { id, count } = await bulk.plan({ action, filter: {}, reason: 'why' })
        expect(count).toBe(20)
        const acted = async () => {
          const audit = await store.operators.listAudit({ limit: 100 })
          return audit.filter(({ subject }) => subject.kind === 'event')
        }
        const before = (await acted()).length

        const runners = [bulk, await another(), await another()]
        await Promise.all(runners.map((runner) => runToEnd(runner, id)))
        await runToEnd(bulk, id)

        expect(await bulk.find(id)).toMatchObject({ done: 20, refused: {}, left: 0 })
        expect(await acted()).toHaveLength(before + 20)
        for (const eventId of ids)
          expect(await store.operators.listRuns(eventId)).toHaveLength(action === 'replay' ? 1 : 0)
      },
    )

    test('the events of a lane are chosen by it, with the dead one that holds it up', async () => {
      const { bulk, store } = await open(underTest)
      const [first = '', second = ''] = await recordKeys(store, ['K1', 'K2', 'L1'])
      await sort(store)
      await runOne(store, dead, { kind: 'head' })
      const lane = { source: 'stripe', key: 'K' }

      const retried = await bulk.plan({ action: 'retry', filter: { lane } })
      const waiting = await bulk.plan({
        action: 'discard',
        filter: { lane, state: ['dead', 'waiting'] },
        reason: 'the customer is gone',
      })

      expect(retried).toMatchObject({ count: 1, sample: [{ id: first }] })
      expect(waiting).toMatchObject({ count: 2, sample: [{ id: second }, { id: first }] })
      await runToEnd(bulk, waiting.id)
      expect(await statesOf(store, [first, second])).toEqual(['discarded', 'discarded'])
    })

    test('a bulk that is not here, or not planned to the end, is refused with what to do', async () => {
      const { bulk, store } = await open(underTest)
      const draft = { action: 'retry', filter: '{}', ...NO_ORDER } as const
      await store.bulks.create({ ...draft, id: UNKNOWN, terms: undefined })
      const other = UNKNOWN.replace(/0$/, '1')

      for (const ask of [bulk.run, bulk.abort]) {
        expect(await ask(UNKNOWN)).toMatchObject({ status: 'refused', code: 'BULK_UNPLANNED' })
        expect(await ask(other)).toEqual({
          status: 'refused',
          code: 'BULK_UNKNOWN',
          reason: expect.any(String) as string,
          instead: expect.any(String) as string,
        })
        expect(await ask("'; drop table bulks --\u0000")).toMatchObject({ code: 'BULK_UNKNOWN' })
      }
      expect(await bulk.find('\u0000')).toBeUndefined()
      expect(await store.bulks.actOnNext(UNKNOWN)).toEqual({ status: 'none' })
    })

    test.each([
      ['plan', [{ action: 'delete', filter: {} }], '.action'],
      ['plan', [{ action: 'retry' }], '.filter'],
      ['plan', [{ action: 'retry', filter: { state: 'done' } }], '.filter.state'],
      ['plan', [{ action: 'retry', filter: { limit: 10 } }], '.filter.limit'],
      ['plan', [{ action: 'retry', filter: {}, reason: 7 }], '.reason'],
      ['plan', [{ action: 'retry', filter: {}, freshKeys: true }], '.freshKeys'],
      ['plan', [{ action: 'discard', filter: {} }], '.reason'],
      ['plan', [{ action: 'discard', filter: { state: 'done' }, reason: 'why' }], '.filter.state'],
      ['plan', [{ action: 'release', filter: {} }], '.reason'],
      ['plan', [{ action: 'release', filter: { state: 'dead' }, reason: 'why' }], '.filter.state'],
      ['plan', [{ action: 'replay', filter: {} }], '.reason'],
      ['plan', [{ action: 'replay', filter: { state: 'done' }, reason: 'why' }], '.filter.state'],
      ['plan', [{ action: 'replay', filter: {}, reason: 'why', body: 'x' }], '.body'],
      [
        'plan',
        [{ action: 'replay', filter: {}, reason: 'why', onlyIfNotApplied: 'no' }],
        '.onlyIfNotApplied',
      ],
      ['plan', [{ action: 'retry', filter: { lane: { source: 'stripe' } } }], '.filter.lane.key'],
      ['abort', [UNKNOWN, { because: 'why' }], '.because'],
      ['run', [7], '.id'],
      ['run', [UNKNOWN, { ratePerSecond: 0 }], '.ratePerSecond'],
      ['run', [UNKNOWN, { rate: 1 }], '.rate'],
      ['find', [], '.id'],
      ['list', [{ state: 'planned' }], '.state'],
      ['list', [{ all: 'yes' }], '.all'],
      ['list', [{ limit: 0 }], '.limit'],
      ['abort', [null], '.id'],
    ] as const)('%s refuses %j by name', async (name, args, option) => {
      const { bulk } = await open(underTest)
      const ask = bulk[name] as (...given: unknown[]) => Promise<unknown>

      await expect(ask(...args)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        option: `admin.bulk.${name}${option}`,
      })
    })

    test('a plan has 100,000 events at most, and says that there are more', async () => {
      const { bulk, store, database } = await open(underTest)
      const [eventId = ''] = await recordDead(store, 1)
      await copyEvent(database, { engine: store.engine, eventId, count: 100_100 })

      const planned = await bulk.plan({ action: 'retry', filter: {} })

      expect(planned).toMatchObject({ count: 100_000, isComplete: false })
      expect(await bulk.find(planned.id)).toMatchObject({ planned: 100_000, left: 100_000 })
    })

    // From elsewhere an inbox that stopped is a store that cannot be used: `failed`, with the error.
    test.skipIf(underTest.operate)(
      'an inbox that stops ends the bulks that it runs, and another goes on',
      async () => {
        const { inbox, store, another } = await openInbox(underTest, { worker: false })
        await inbox.start()
        await recordDead(store, 60)
        const { id } = await inbox.admin.bulk.plan({ action: 'retry', filter: {} })
        const run = await inbox.admin.bulk.run(id, { ratePerSecond: 1 })
        assert(run.status === 'done')

        await inbox.stop()
        expect(await run.ended).toEqual({ status: 'stopped' })

        const next = another({ worker: false })
        await runToEnd(next.admin.bulk, id)
        expect(await next.admin.bulk.find(id)).toMatchObject({ done: 60, left: 0 })
      },
    )
  })
}

async function open(underTest: StoreUnderTest) {
  const { store, second, database } = await openStore(underTest)
  return {
    store,
    database,
    bulk: bulkOf(underTest, store),
    another: async () => bulkOf(underTest, await second()),
  }
}

function bulkOf({ operate }: StoreUnderTest, store: Store<QueryTx>): BulkOperator {
  const runner = new BulkRunner()
  const bulk = createBulkOperator(
    (act) => act(store),
    runner,
    () => undefined,
  )
  return operate === undefined ? bulk : operate({ admin: { bulk } as Operator }).bulk
}

async function runToEnd(bulk: BulkOperator, id: string): Promise<BulkEnd> {
  const run = await bulk.run(id, FAST)
  assert(run.status === 'done')
  return run.ended
}

async function recordDead(
  store: Store<QueryTx>,
  count: number,
  source = 'stripe',
): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    await recordOne(store, anEventDraft({ key: `evt_${n}`, source }))
    ids.push(await runOne(store, dead, { of: [[source, 'invoice.paid']] }))
  }
  return ids
}
