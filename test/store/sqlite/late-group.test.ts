/** Groups that have no transaction until they need one: what holds their events meanwhile, and what ends that. */

import { describe, expect, test } from 'vitest'
import { EVENT_ACTIONS } from '../../../src/model/event-action.ts'
import type { ClaimedEvent } from '../../../src/store/contract/claimed-event.ts'
import type { Group } from '../../../src/store/contract/group.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import type { ClaimInput } from '../../support/builders.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import {
  act,
  claim,
  dead,
  done,
  moveHeart,
  nextDueInMs,
  recordOne,
  retryIn,
  runOne,
  sweepOthers,
} from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { QueryTx } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)
const SLOT = { workerId: 'worker-1', slot: 0 }
const OTHER_SLOT = { workerId: 'worker-1', slot: 1 }
const OTHER_WORKER = { workerId: 'worker-2', slot: 0 }
const LATE: ClaimInput = { slot: SLOT, limit: 1, opensLate: 'always' }
const WRITE = 'insert into effects (event_key, note) values ($1, $2)'

async function openLate(...keys: readonly string[]) {
  const opened = await openStore(underTest)
  await opened.createEffects()
  for (const key of keys) await recordOne(opened.store, anEventDraft({ key }))
  const late = await claim(opened.store, LATE)
  return { ...opened, late, tx: late.lend().tx }
}

/** Another slot's group, which has the writer. */
function claimBeside({ store }: Pick<Awaited<ReturnType<typeof openLate>>, 'store'>) {
  return claim(store, { slot: OTHER_SLOT, limit: 1 })
}

async function end(group: Group<QueryTx>): Promise<string> {
  const taken = await group.settle(group.events.map(done))
  expect([...taken]).toEqual([])
  return (await group.commit()).status
}

describe('sqlite: a group that opens late', () => {
  test('keeps the writer from no other before its first statement, and has it from then on', async () => {
    const { store, second, late, tx, countEffects } = await openLate('a', 'b')
    const other = await second()
    await late.setSavepoint('event')

    expect(await recordOne(store, anEventDraft({ key: 'c' }))).toMatchObject({ status: 'accepted' })
    expect(await recordOne(other, anEventDraft({ key: 'd' }))).toMatchObject({ status: 'accepted' })
    expect(await runOne(store, done, { slot: OTHER_SLOT })).not.toBe(late.events[0]?.eventId)
    expect(store.events.isHeld?.()).toBe(false)

    await tx.query(WRITE, ['a', 'written'])
    expect(store.events.isHeld?.()).toBe(true)
    expect(late.status()).toBe('open')
    expect(await end(late)).toBe('committed')
    expect(store.events.isHeld?.()).toBe(false)
    expect(await countEffects('a')).toBe(1)
  })

  test('holds its event against every other slot', async () => {
    const { second, store, late } = await openLate('a')
    const other = await second()

    expect(await store.queue.claim(aClaim({ slot: OTHER_SLOT }))).toBeUndefined()
    expect(await other.queue.claim(aClaim({ slot: OTHER_WORKER }))).toBeUndefined()
    expect(await nextDueInMs(other)).toBeUndefined()
    expect(await other.operators.findEvent(late.events[0]?.eventId ?? '')).toMatchObject({
      state: 'running',
    })

    await late.abandon()
  })

  test('sets its savepoints when it opens, in their order', async () => {
    const { late, tx, countEffects } = await openLate('a')
    await late.setSavepoint('outer')
    await late.setSavepoint('gone')
    await late.dropSavepoint('gone')
    await late.setSavepoint('inner')
    await late.rollbackTo('inner')

    await tx.query(WRITE, ['a', 'undone'])
    await late.rollbackTo('inner')
    await tx.query(WRITE, ['a', 'undone'])
    await late.rollbackTo('outer')
    await tx.query(WRITE, ['a', 'kept'])
    await late.dropSavepoint('outer')

    expect(await end(late)).toBe('committed')
    expect(await countEffects()).toBe(1)
  })

  test('runs what was called while another had the writer, in the order of the calls', async () => {
    const opened = await openLate('a', 'b')
    const { late, tx, database, countEffects } = opened
    const beside = await claimBeside(opened)
    const bytes = new Uint8Array([1])
    await late.setSavepoint('event')

    tx.write(WRITE, ['a', 'one'])
    const counted = tx.query('select count(*) as found from effects')
    tx.write('insert into effects (event_key, note) values ($1, hex($2))', ['a', bytes])
    bytes[0] = 255
    const refused = tx.query('insert into no_such_table values (1)')
    expect(() => tx.write('commit')).toThrow(
      expect.objectContaining({ code: 'TRANSACTION_CONTROL' }),
    )
    expect(await countEffects()).toBe(0)
    await end(beside)

    await expect(refused).rejects.toThrow(/no_such_table/)
    expect((await counted).rows).toEqual([{ found: 1 }])
    expect(await end(late)).toBe('committed')
    expect(await database.query('select note from effects order by rowid')).toEqual([
      { note: 'one' },
      { note: '01' },
    ])
  })

  test('what a write was refused that had to wait fails the flush of its handler', async () => {
    const opened = await openLate('a', 'b')
    const beside = await claimBeside(opened)
    const lent = opened.late.lend()

    lent.tx.write('insert into no_such_table values (1)')
    lent.tx.write(WRITE, ['a', 'one'])
    await end(beside)

    await expect(lent.flush()).rejects.toThrow(/no_such_table/)
    await opened.late.abandon()
    expect(await opened.countEffects()).toBe(0)
  })

  test('nothing of a handler runs whose transaction was taken back while it waited', async () => {
    const opened = await openLate('a', 'b')
    const beside = await claimBeside(opened)
    const lent = opened.late.lend()
    const waiting = lent.tx.query(WRITE, ['a', 'late'])

    lent.revokeNow()
    await end(beside)

    await expect(waiting).rejects.toMatchObject({ code: 'TX_REVOKED' })
    expect(await end(opened.late)).toBe('committed')
    expect(await opened.countEffects()).toBe(0)
  })

  test('the clock of its handler stands still while it waits for the writer', async () => {
    const opened = await openLate('a', 'b')
    const beside = await claimBeside(opened)
    const calls: string[] = []
    const lent = opened.late.lend({
      pause: () => calls.push('pause'),
      resume: () => calls.push('resume'),
    })

    const waiting = lent.tx.query(WRITE, ['a', 'one'])
    expect(calls).toEqual(['pause'])
    await end(beside)
    await waiting
    await lent.tx.query(WRITE, ['a', 'two'])

    expect(calls).toEqual(['pause', 'resume'])
    await opened.late.abandon()
  })

  test('given up before it opened, or while it waits to, it gives its event back at once', async () => {
    const opened = await openLate('a', 'b')
    const { store, second, late, tx, countEffects } = opened
    const other = await second()
    const beside = await claimBeside(opened)
    const waiting = tx.query(WRITE, ['a', 'never'])

    const abandoned = late.abandon()
    await end(beside)
    await abandoned

    await expect(waiting).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' })
    const again = await claim(other, { slot: OTHER_WORKER })
    expect(again.events).toMatchObject([{ key: 'a', attempt: 1 }])
    await again.abandon()
    await (await claim(store, LATE)).abandon()
    expect((await claim(other, { slot: OTHER_WORKER })).events).toMatchObject([{ key: 'a' }])
    expect(await countEffects()).toBe(0)
  })

  test('a store that is closed meanwhile gives its event back, also when another connection had the writer', async () => {
    const { database, store } = await openStore(underTest)
    for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
    const leaving = database.newStore()
    await leaving.open()
    const late = await claim(leaving, LATE)
    await claim(leaving, { slot: OTHER_SLOT, limit: 1 })
    const waiting = late.lend().tx.query('select 1')
    // It is rejected when the store closes, before anything here waits for it.
    waiting.catch(() => undefined)

    await leaving.close()

    await expect(waiting).rejects.toThrow()
    const again = await claim(store, { slot: OTHER_WORKER })
    expect(again.events).toMatchObject([{ key: 'a' }, { key: 'b' }])
    await again.abandon()
  })

  test('is not ended for being idle before it has a transaction', async () => {
    const { store } = await openStore(underTest)
    for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
    const late = await claim(store, { ...LATE, idleTimeoutMs: 1 })
    const ended = await claim(store, { slot: OTHER_SLOT, limit: 1, idleTimeoutMs: 1 })

    await expect.poll(() => ended.status()).toBe('lost')

    expect(late.status()).toBe('open')
    await late.settle(late.events.map(done))
    expect(await late.commit()).toEqual({ status: 'committed' })
  })

  test('steps are leased from it', async () => {
    const { store, late } = await openLate('a')
    await store.workers.beat({ workerId: SLOT.workerId, slots: 1, handles: [] })

    const leased = await late.lease({ workerId: SLOT.workerId, limit: 1, leaseMs: 60_000 })

    expect(leased).toMatchObject([{ key: 'a', attempt: 1 }])
  })
})

describe('sqlite: an event that is taken while its handler runs without the lock', () => {
  test.each<[string, string]>([
    ['an operator has parked', "set parked = 'quarantined', parked_reason = 'by an operator'"],
    ['a sweep has counted a crash on', 'set crashes = crashes + 1'],
    ['another attempt has failed of', 'set attempts = attempts + 1'],
  ])('H24: nothing is kept of what %s', async (_what, change) => {
    const { database, late, tx, countEffects } = await openLate('a')
    await database.execute(`update hookonce_queue ${change}`)

    await expect(tx.query(WRITE, ['a', 'never'])).rejects.toMatchObject({ code: 'CLAIM_LOST' })

    expect(late.status()).toBe('taken')
    expect([...(await late.settle(late.events.map(done)))]).toEqual([late.events[0]?.eventId])
    expect((await late.commit()).status).toBe('refused')
    await late.abandon()
    expect(await countEffects()).toBe(0)
  })

  test('H24: one that died meanwhile and that an operator has retried is done once', async () => {
    const { second, late, store, countEffects } = await openLate('a')
    const other = await second()
    const [event] = late.events as [ClaimedEvent]
    expect(await sweepOthers(other, { me: OTHER_WORKER.workerId })).toHaveLength(1)
    await runOne(other, dead, { slot: OTHER_WORKER, kind: 'suspect' })
    expect(await act(other, 'retry', event.eventId)).toMatchObject({ status: 'done' })
    const again = await claim(other, { ...LATE, slot: OTHER_WORKER })

    // The queue has it as it was: the first of the two to commit has run it.
    await late.lend().tx.query(WRITE, ['a', 'the first'])
    expect(await end(late)).toBe('committed')

    await expect(again.lend().tx.query(WRITE, ['a', 'again'])).rejects.toMatchObject({
      code: 'CLAIM_LOST',
    })
    await again.abandon()
    expect(await countEffects('a')).toBe(1)
    expect(await store.operators.findEvent(event.eventId)).toMatchObject({ state: 'done' })
  })

  test('H24: no operator takes one from the worker that runs it', async () => {
    const { late, tx, store, countEffects } = await openLate('a')
    for (const action of EVENT_ACTIONS) {
      const acted = await act(store, action, late.events[0]?.eventId ?? '')
      expect(acted).toEqual({ status: 'refused', code: 'EVENT_RUNNING' })
    }

    await tx.query(WRITE, ['a', 'one'])

    expect(await end(late)).toBe('committed')
    expect(await countEffects('a')).toBe(1)
  })

  test('H24: of several that need no transaction the others are settled', async () => {
    const { database, store } = await openStore(underTest)
    for (const key of ['a', 'b', 'c']) await recordOne(store, anEventDraft({ key }))
    const late = await claim(store, { ...LATE, limit: 3 })
    const [first, second, third] = late.events as [ClaimedEvent, ClaimedEvent, ClaimedEvent]
    await database.query("update hookonce_queue set parked = 'quarantined' where event_id = $1", [
      second.eventId,
    ])

    const taken = await late.settle(late.events.map(done))

    expect([...taken]).toEqual([second.eventId])
    expect(await late.commit()).toEqual({ status: 'committed' })
    const states = [first, second, third].map(({ eventId }) => store.operators.findEvent(eventId))
    expect(await Promise.all(states)).toMatchObject([
      { state: 'done' },
      { state: 'quarantined' },
      { state: 'done' },
    ])
  })

  test('H24: a failure of a worker that lost it is not written while another runs it', async () => {
    const { second, late, store } = await openLate('a')
    const [event] = late.events as [ClaimedEvent]
    await late.abandon()
    const other = await second()
    const again = await claim(other, { ...LATE, slot: OTHER_WORKER })

    expect(await store.queue.settleLost(retryIn(0)(event))).toBe(false)

    expect(await end(again)).toBe('committed')
    expect(await store.operators.findEvent(event.eventId)).toMatchObject({
      state: 'done',
      failures: [],
    })
  })
})

describe('sqlite: a group whose events cannot be leased', () => {
  test.each(['always', 'never'] as const)(
    'holds nothing any more (opens late: %s)',
    async (late) => {
      const { database, second, store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a' }))
      await database.execute(`
      create trigger refuse before update of lease_token on hookonce_queue
       begin select raise(abort, 'refused by the test'); end`)

      const group = await claim(store, { ...LATE, opensLate: late })
      const request = { workerId: SLOT.workerId, limit: 1, leaseMs: 60_000 }
      await expect(group.lease(request)).rejects.toThrow('refused by the test')

      expect(store.events.isHeld?.()).toBe(false)
      expect(group.status()).toBe('ended')
      const other = await claim(await second(), { ...LATE, slot: OTHER_WORKER })
      expect(other.events).toMatchObject([{ key: 'a', crashes: 0 }])
      expect(await end(other)).toBe('committed')
    },
  )
})

describe('sqlite: the crash of a worker whose handler runs without the lock', () => {
  test('is not counted on a heart that has moved since it was looked at', async () => {
    const { second, store, late } = await openLate('a')
    const other = await second()
    const stopped = await other.workers.listHearts()

    await moveHeart(store, SLOT.workerId)

    expect(await other.workers.sweep({ stopped, crashesMax: 3 })).toEqual([])
    expect(await end(late)).toBe('committed')
  })

  test('makes it a suspect, of which one runs in the whole fleet', async () => {
    const { second, store } = await openLate('a', 'b')
    const other = await second()
    await claim(store, { ...LATE, slot: OTHER_SLOT })
    expect(await sweepOthers(other, { me: OTHER_WORKER.workerId })).toHaveLength(2)

    const suspect = await claim(other, { ...LATE, slot: OTHER_WORKER, kind: 'suspect' })

    const besides = { ...LATE, slot: { workerId: 'worker-3', slot: 0 }, kind: 'suspect' } as const
    expect(await store.queue.claim(aClaim(besides))).toBeUndefined()
    expect(await end(suspect)).toBe('committed')
    expect((await claim(store, besides)).events).toMatchObject([{ crashes: 1 }])
  })
})
