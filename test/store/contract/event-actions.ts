import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { ACTION_RULES, EVENT_ACTIONS, refusalOf } from '../../../src/model/event-action.ts'
import { EVENT_STATES } from '../../../src/model/event-state.ts'
import type { EventState } from '../../../src/model/event-state.ts'
import { bytesOf } from '../../../src/model/stored-body.ts'
import type { EventId } from '../../../src/model/event.ts'
import type { Settlement } from '../../../src/model/outcome.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import {
  act,
  claim,
  dead,
  done,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../../support/store-steps.ts'
import { eitherWay } from '../../support/step-handlers.ts'
import { recordKeys, sort } from '../../support/lane-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

const UNKNOWN = '00000000-0000-7000-8000-000000000000'
const OTHER_CONTENT = '{"amount":2}'

/** What every store must make of an operator's action: by the table, once, and with a row in the audit. */
export function eventActionsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: actions on events`, () => {
    test.each(
      EVENT_STATES.flatMap((state) => EVENT_ACTIONS.map((action) => [action, state] as const)),
    )('%s does with an event that is %s what the table says', async (action, state) => {
      const { store } = await openStore(underTest)
      const eventId = await REACH[state](store)
      const becomes = ACTION_RULES[action][state]
      const before = await store.operators.listAudit({ limit: 10 })

      const acted = await act(store, action, eventId)

      const found = await store.operators.findEvent(eventId)
      const after = await store.operators.listAudit({ limit: 10 })
      const audit = after.slice(0, after.length - before.length)
      if (becomes === undefined || (action === 'retry' && state === 'ready')) {
        expect(acted).toEqual({ status: 'refused', code: refusalOf(state) })
        expect(found?.state).toBe(state)
        expect(audit).toEqual([])
      } else {
        const run = action === 'replay' ? 1 : 0
        expect(acted).toEqual({ status: 'done', run, state: becomes })
        expect(found?.state).toBe(becomes)
        expect(audit).toMatchObject([{ action, outcome: { run, state: becomes } }])
      }
    })

    test('an event that is not here is refused, and nothing is written', async () => {
      const { store } = await openStore(underTest)

      for (const action of EVENT_ACTIONS)
        expect(await act(store, action, UNKNOWN)).toMatchObject({ code: 'EVENT_UNKNOWN' })

      expect(await store.operators.listAudit({ limit: 10 })).toEqual([])
    })

    test('the audit says who did what to which event, and why', async () => {
      const { store } = await openStore(underTest)
      const eventId = await REACH.dead(store)
      const order = { actor: 'ada', reason: 'the carrier is back\0', token: 'click-1' }

      await act(store, 'retry', eventId, order)
      await act(store, 'discard', eventId, { actor: 'bo', reason: 'twice' })

      const ofEvent = { kind: 'event', id: eventId } as const
      expect(await store.operators.listAudit({ subject: ofEvent, limit: 10 })).toMatchObject([
        { action: 'discard', subject: ofEvent, actor: 'bo', reason: 'twice', token: undefined },
        {
          action: 'retry',
          subject: ofEvent,
          actor: 'ada',
          reason: 'the carrier is back\ufffd',
          token: 'click-1',
          outcome: { status: 'done', run: 0, state: 'ready' },
        },
      ])
      const ofAnother = { kind: 'event', id: UNKNOWN } as const
      expect(await store.operators.listAudit({ subject: ofAnother, limit: 10 })).toEqual([])
    })

    test('an action that cannot be written to the audit does not happen', async () => {
      const { store, database } = await openStore(underTest)
      const eventId = await REACH.done(store)
      await eitherWay(
        database.query,
        'alter table hookonce.audit rename to elsewhere',
        'alter table hookonce_audit rename to elsewhere',
      )

      await expect(act(store, 'replay', eventId)).rejects.toThrow()

      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done' })
      expect(await store.operators.listRuns(eventId)).toEqual([])
    })

    test('Y02: a token makes a hundred calls at once one run, and all are told the same', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const eventId = await REACH.done(store)

      const calls = Array.from({ length: 100 }, (_, n) =>
        act(n % 2 === 0 ? store : other, 'replay', eventId, { token: 'click' }),
      )
      const acted = await Promise.all(calls)

      expect(acted).toEqual(acted.map(() => ({ status: 'done', run: 1, state: 'ready' })))
      expect(await store.operators.listRuns(eventId)).toHaveLength(1)
      await runOne(store, done)
      expect(await act(other, 'replay', eventId, { token: 'click' })).toMatchObject({ run: 1 })
      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done' })
    })

    test('a token that is used at once for two events stands for one of them', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const [one, two] = [await REACH.done(store, 'a'), await REACH.done(store, 'b')]

      const acted = await Promise.all([
        act(store, 'replay', one, { token: 'click' }),
        act(other, 'replay', two, { token: 'click' }),
      ])

      expect(acted.map((each) => ('code' in each ? each.code : each.status)).sort()).toEqual([
        'TOKEN_USED',
        'done',
      ])
      expect(await store.operators.listAudit({ limit: 10 })).toHaveLength(1)
    })

    test('an event that waits for its next attempt is due at once when it is retried', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, retryIn(3_600_000))
      expect(await store.queue.claim(aClaim({ kind: 'again' }))).toBeUndefined()

      expect(await act(store, 'retry', eventId)).toMatchObject({ status: 'done', state: 'ready' })

      const group = await claim(store, { kind: 'again' })
      expect(group.events).toMatchObject([{ eventId, attempt: 2 }])
      await group.abandon()
    })

    test('a discarded event says why, keeps its failures, and its redelivery is a duplicate', async () => {
      const { store } = await openStore(underTest)
      const eventId = await REACH.dead(store)

      await act(store, 'discard', eventId, { reason: 'no such customer' })

      expect(await recordOne(store, anEventDraft())).toEqual({ status: 'duplicate', eventId })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'discarded',
        reason: 'no such customer',
        failures: [{ attempt: 1 }],
      })
    })

    test('a forgotten dead event is discarded, and its redelivery is a new event', async () => {
      const { store } = await openStore(underTest)
      const eventId = await REACH.dead(store)

      await act(store, 'forget', eventId)

      const again = await recordOne(store, anEventDraft())
      expect(again.status).toBe('accepted')
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'discarded',
        reason: 'forgotten',
      })
      expect(await act(store, 'forget', eventId)).toMatchObject({ code: 'KEY_UNKNOWN' })
    })

    test('Y01: a replay is the next run of the same event, with the same keys and body', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const first = await claimOne(store)

      await act(store, 'replay', eventId, { reason: 'lost rows', actor: 'ada' })

      const group = await claim(store)
      expect(group.events).toMatchObject([
        { eventId, run: 1, attempt: 1, keyHash: first.keyHash, isModified: false },
      ])
      expect(group.events[0]?.body).toEqual(first.body)
      await group.settle(group.events.map(done))
      await group.commit()
      expect(await act(store, 'replay', eventId)).toMatchObject({ run: 2 })
      expect(await store.operators.listRuns(eventId)).toMatchObject([
        { run: 1, reason: 'lost rows', actor: 'ada', freshKeys: false, body: undefined },
        { run: 2 },
      ])
    })

    test('Y08: a replay with a body of its own is marked, and the original is kept', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      const first = await claimOne(store)
      const body = new TextEncoder().encode('{"amount":3}')

      await act(store, 'replay', eventId, {
        replay: { freshKeys: true, body, onlyIfNotApplied: false },
      })

      const again = await claimOne(store)
      expect(again).toMatchObject({ run: 1, isModified: true })
      expect(Buffer.from(bytesOf(again.body)).toString()).toBe('{"amount":3}')
      expect(again.keyHash).toMatch(/^[0-9a-f]{64}$/)
      expect(again.keyHash).not.toBe(first.keyHash)
      const kept = await store.operators.findEvent(eventId)
      expect(Buffer.from(kept?.body ?? [])).toEqual(Buffer.from('{"amount":1}'))
      await act(store, 'replay', eventId)
      expect(await claimOne(store)).toMatchObject({
        run: 2,
        isModified: false,
        keyHash: first.keyHash,
      })
    })

    test('a replay that dies is retried as the run it was', async () => {
      const { store } = await openStore(underTest)
      const eventId = await REACH.done(store)
      const body = new TextEncoder().encode('{"amount":3}')
      await act(store, 'replay', eventId, {
        replay: { freshKeys: false, body, onlyIfNotApplied: false },
      })
      await runOne(store, dead)
      expect(await act(store, 'replay', eventId)).toMatchObject({ code: 'EVENT_DEAD' })

      expect(await act(store, 'retry', eventId)).toEqual({ status: 'done', run: 1, state: 'ready' })

      expect(await claimOne(store)).toMatchObject({ run: 1, isModified: true })
    })

    test('only what no run has applied is replayed, where that is asked for', async () => {
      const { store } = await openStore(underTest)
      const replay = { freshKeys: false, body: undefined, onlyIfNotApplied: true }
      const applied = await REACH.done(store, 'a')
      const notApplied = await REACH.skipped(store, 'b')

      expect(await act(store, 'replay', applied, { replay })).toMatchObject({
        code: 'EVENT_APPLIED',
      })
      expect(await act(store, 'replay', notApplied, { replay })).toMatchObject({ run: 1 })
    })

    test('the steps of a replay begin anew, and those of the run before are kept', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const first = await leaseOne(store)
      const place = { handler: 'h', position: 1, name: 'charge', result: '1' }
      await store.steps.writeCalls([{ lease: first.lease, ...place, change: 'done' }])
      const settlement = done(first)
      await store.steps.settle([{ lease: first.lease, settlement }])

      await act(store, 'replay', first.eventId)

      const again = await leaseOne(store)
      expect(again).toMatchObject({ run: 1, hasSteps: false })
      expect(await store.steps.list(first.eventId, 1)).toEqual([])
      expect(await store.steps.list(first.eventId, 0)).toMatchObject([{ name: 'charge' }])
    })

    test('R21: a released conflict runs once, under keys that the first event does not have', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const first = await claimOne(store)
      const other = anEventDraft({ body: OTHER_CONTENT })
      const { eventId } = await recordOne(store, other)

      await act(store, 'release', eventId, { reason: 'a correction' })

      const released = await claimOne(store)
      expect(released).toMatchObject({ eventId, run: 0 })
      expect(released.keyHash).not.toBe(first.keyHash)
      expect(await recordOne(store, other)).toEqual({ status: 'duplicate', eventId })
      expect(await recordOne(store, anEventDraft())).toEqual({
        status: 'duplicate',
        eventId: first.eventId,
      })
      expect(await act(store, 'release', eventId)).toMatchObject({ code: 'EVENT_DONE' })
    })

    test('R24: the same bytes under a new key run when they are released', async () => {
      const { store } = await openStore(underTest)
      const policy = { sameBytes: 'quarantine' } as const
      await recordOne(store, anEventDraft({ key: 'a', ...policy }))
      const first = await claimOne(store)
      const { eventId, status } = await recordOne(store, anEventDraft({ key: 'b', ...policy }))
      expect(status).toBe('quarantined')

      await act(store, 'release', eventId)

      const released = await claimOne(store)
      expect(released.eventId).toBe(eventId)
      expect(released.keyHash).not.toBe(first.keyHash)
    })

    test('an event from outside the window takes its key when it is released', async () => {
      const { store } = await openStore(underTest)
      const late = anEventDraft({ quarantine: 'outside the time window' })
      const { eventId } = await recordOne(store, late)

      await act(store, 'release', eventId)

      expect((await claimOne(store)).eventId).toBe(eventId)
      expect(await recordOne(store, anEventDraft())).toEqual({ status: 'duplicate', eventId })
    })

    test('an event from outside the window that has arrived since is not released', async () => {
      const { store } = await openStore(underTest)
      const late = anEventDraft({ quarantine: 'outside the time window' })
      const { eventId } = await recordOne(store, late)
      await recordOne(store, anEventDraft())
      await runOne(store, done)

      expect(await act(store, 'release', eventId)).toEqual({
        status: 'refused',
        code: 'EVENT_ARRIVED',
      })
      expect(await act(store, 'discard', eventId)).toMatchObject({ status: 'done' })
    })

    test('a request with too many events is not released, since it was not split', async () => {
      const { store } = await openStore(underTest)
      const whole = anEventDraft({ quarantine: 'too many events' })
      const { eventId } = await recordOne(store, whole)

      expect(await act(store, 'release', eventId)).toMatchObject({ code: 'EVENT_NOT_SPLIT' })
      expect(await act(store, 'discard', eventId)).toMatchObject({ state: 'discarded' })
    })
  })
}

async function claimOne(store: Store<QueryTx>) {
  const group = await claim(store, { limit: 1 })
  const [event] = group.events
  assert(event)
  await group.settle([done(event)])
  assert.deepEqual(await group.commit(), { status: 'committed' })
  return event
}

async function reachBy(
  store: Store<QueryTx>,
  becomes: (event: ClaimedEvent) => Settlement,
  key = 'evt_1',
): Promise<EventId> {
  await recordOne(store, anEventDraft({ key }))
  return runOne(store, becomes)
}

/** How an event gets into each state; it is the only one that is due then. */
const REACH: Readonly<
  Record<EventState, (store: Store<QueryTx>, key?: string) => Promise<EventId>>
> = {
  ready: async (store) => (await recordOne(store, anEventDraft())).eventId,
  running: async (store) => {
    await recordOne(store, anEventDraft())
    return (await leaseOne(store)).eventId
  },
  done: (store, key) => reachBy(store, done, key),
  dead: (store, key) => reachBy(store, dead, key),
  skipped: (store, key) => reachBy(store, skipped, key),
  unhandled: (store, key) => reachBy(store, unhandled, key),
  discarded: async (store) => {
    const { eventId } = await recordOne(store, anEventDraft())
    await act(store, 'discard', eventId)
    return eventId
  },
  conflict: async (store) => {
    await reachBy(store, done)
    return (await recordOne(store, anEventDraft({ body: OTHER_CONTENT }))).eventId
  },
  quarantined: async (store) =>
    (await recordOne(store, anEventDraft({ quarantine: 'outside the time window' }))).eventId,
  waiting: async (store) => {
    const [, second = ''] = await recordKeys(store, ['K1', 'K2'])
    await sort(store)
    return second
  },
}
