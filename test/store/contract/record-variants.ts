import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import type { EventDraftInput } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import {
  dead,
  DEADLINE_MS,
  done,
  nextDueInMs,
  recordOne,
  runOne,
} from '../../support/store-steps.ts'

/** What every store must do when keys and contents do not go together as before. Part of `recordContract`. */
export function recordVariantsContract(underTest: StoreUnderTest): void {
  conflicts(underTest)
  sameBytes(underTest)
  sameDelivery(underTest)
  outsideWindow(underTest)
}

function conflicts(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, same key and other content`, () => {
    const original = () => anEventDraft({ body: '{"amount":1}' })
    const changed = () => anEventDraft({ body: '{"amount":2}' })

    test('is kept beside the first as a conflict, and never runs', async () => {
      const { store } = await openStore(underTest)
      const first = await recordOne(store, original())

      const second = await recordOne(store, changed())

      expect(second.status).toBe('conflict')
      expect(second.eventId).not.toBe(first.eventId)
      const kept = await store.operators.listEventsByKey('stripe', 'evt_1')
      expect(kept.map(({ id, state }) => [id, state])).toEqual([
        [first.eventId, 'ready'],
        [second.eventId, 'conflict'],
      ])
      await runOne(store, done)
      expect(await nextDueInMs(store)).toBeUndefined()
    })

    test('is a conflict within one batch', async () => {
      const { store } = await openStore(underTest)

      const recorded = await store.events.record([original(), changed()], {
        deadlineMs: DEADLINE_MS,
      })

      expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'conflict'])
      expect(await store.operators.countEvents()).toBe(2)
    })

    test('is a conflict for one of two stores that record at once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()

      const results = await Promise.all([recordOne(store, original()), recordOne(other, changed())])

      expect(results.map(({ status }) => status).sort()).toEqual(['accepted', 'conflict'])
    })

    test('is a duplicate of the conflict when it is delivered again', async () => {
      const { store, second } = await openStore(underTest)
      await recordOne(store, original())
      const conflict = await recordOne(store, changed())

      expect(await recordOne(store, changed())).toEqual({
        status: 'duplicate',
        eventId: conflict.eventId,
      })
      expect(await recordOne(await second(), changed())).toMatchObject({ status: 'duplicate' })
      expect(await store.operators.countEvents()).toBe(2)
    })

    test('leaves the first to be known as before', async () => {
      const { store } = await openStore(underTest)
      const first = await recordOne(store, original())
      await recordOne(store, changed())

      expect(await recordOne(store, original())).toEqual({
        status: 'duplicate',
        eventId: first.eventId,
      })
    })
  })
}

function sameBytes(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, same bytes and another key`, () => {
    test("runs as an event of its own under 'run'", async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'run' }))

      expect(await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'run' }))).toMatchObject({
        status: 'accepted',
      })
    })

    test("is quarantined under 'quarantine', and known when it comes again", async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'quarantine' }))

      const captured = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'quarantine' }))

      expect(captured).toMatchObject({
        status: 'quarantined',
        reason: 'same bytes under another key',
      })
      expect(await store.operators.findEvent(captured.eventId)).toMatchObject({
        state: 'quarantined',
        reason: 'same bytes under another key',
      })
      expect(await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'quarantine' }))).toEqual({
        status: 'duplicate',
        eventId: captured.eventId,
      })
    })

    test("is the first event under 'duplicate', and so is its redelivery", async () => {
      const { store } = await openStore(underTest)
      const first = await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'duplicate' }))

      const renamed = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'duplicate' }))
      const again = await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'duplicate' }))

      expect(renamed).toEqual({ status: 'duplicate', eventId: first.eventId })
      expect(again).toEqual({ status: 'duplicate', eventId: first.eventId })
      expect(await store.operators.countEvents()).toBe(1)
    })

    test("under 'duplicate' revives a first event that is dead, as its own redelivery would", async () => {
      const { store } = await openStore(underTest)
      const policy = { sameBytes: 'duplicate', redelivery: 'retry' } as const
      const { eventId } = await recordOne(store, anEventDraft({ key: 'a', ...policy }))
      await runOne(store, dead)

      const renamed = await recordOne(store, anEventDraft({ key: 'b', ...policy }))

      expect(renamed).toEqual({ status: 'revived', eventId })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        attempts: 0,
      })
      expect(await recordOne(store, anEventDraft({ key: 'b', ...policy }))).toEqual({
        status: 'duplicate',
        eventId,
      })
    })

    test("under 'duplicate' leaves a first event that is dead as it is under 'count'", async () => {
      const { store } = await openStore(underTest)
      const policy = { sameBytes: 'duplicate', redelivery: 'count' } as const
      const { eventId } = await recordOne(store, anEventDraft({ key: 'a', ...policy }))
      await runOne(store, dead)

      const renamed = await recordOne(store, anEventDraft({ key: 'b', ...policy }))

      expect(renamed).toEqual({ status: 'duplicate', eventId })
      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'dead' })
    })

    test("under 'duplicate' makes its key known, so that other content under it is a conflict", async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, anEventDraft({ key: 'a', sameBytes: 'duplicate' }))
      await recordOne(store, anEventDraft({ key: 'b', sameBytes: 'duplicate' }))

      const other = anEventDraft({ key: 'b', sameBytes: 'duplicate', body: 'other' })

      expect(await recordOne(store, other)).toMatchObject({ status: 'conflict' })
    })

    test('is noticed within one batch', async () => {
      const { store } = await openStore(underTest)
      const policies = ['quarantine', 'duplicate'] as const

      for (const policy of policies) {
        const recorded = await store.events.record(
          ['a', 'b'].map((key) => anEventDraft({ source: policy, key, sameBytes: policy })),
          { deadlineMs: DEADLINE_MS },
        )
        const second = policy === 'quarantine' ? 'quarantined' : 'duplicate'
        expect(recorded.map(({ status }) => status)).toEqual(['accepted', second])
      }
    })

    test('is noticed by one of two stores that record at once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()

      const results = await Promise.all([
        recordOne(store, anEventDraft({ key: 'a', sameBytes: 'quarantine' })),
        recordOne(other, anEventDraft({ key: 'b', sameBytes: 'quarantine' })),
      ])

      expect(results.map(({ status }) => status).sort()).toEqual(['accepted', 'quarantined'])
    })

    test('an event without a key is quarantined, and its redelivery is a duplicate', async () => {
      const { store } = await openStore(underTest)

      const first = await recordOne(store, anEventDraft({ key: undefined }))

      expect(first).toMatchObject({ status: 'quarantined', reason: 'no key' })
      expect(await store.operators.findEvent(first.eventId)).toMatchObject({
        key: undefined,
        state: 'quarantined',
        reason: 'no key',
      })
      expect(await recordOne(store, anEventDraft({ key: undefined }))).toEqual({
        status: 'duplicate',
        eventId: first.eventId,
      })
      expect(await nextDueInMs(store)).toBeUndefined()
    })
  })
}

/** What a sender signed once: drafts of the same delivery have the same content hash. */
function sameDelivery(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, one signed delivery and other content`, () => {
    const policy = { sameBytes: 'quarantine', contentHash: 'd'.repeat(32) } as const
    const original = () => anEventDraft({ key: 'a', body: '{"amount":1}', ...policy })
    const forged = (key = 'b') => anEventDraft({ key, body: '{"amount":2}', ...policy })

    test('R55: is kept as a conflict under its new key, and never runs', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, original())

      const conflict = await recordOne(store, forged())

      expect(conflict.status).toBe('conflict')
      expect(await store.operators.findEvent(conflict.eventId)).toMatchObject({
        state: 'conflict',
        reason: 'same signature, other content',
      })
      expect(await recordOne(store, forged())).toEqual({
        status: 'duplicate',
        eventId: conflict.eventId,
      })
      await runOne(store, done)
      expect(await nextDueInMs(store)).toBeUndefined()
    })

    test('R55: does not take the key from the event that it belongs to', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, original())
      await recordOne(store, forged())

      const genuine = anEventDraft({ key: 'b', body: '{"amount":3}' })

      expect(await recordOne(store, genuine)).toMatchObject({ status: 'accepted' })
      expect(await recordOne(store, genuine)).toMatchObject({ status: 'duplicate' })
    })

    test('R55: is a conflict within one batch, however many', async () => {
      const { store } = await openStore(underTest)

      const recorded = await store.events.record([original(), forged('b'), forged('c')], {
        deadlineMs: DEADLINE_MS,
      })

      expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'conflict', 'conflict'])
    })

    test('R55: is a conflict for one of two stores that record at once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()

      const results = await Promise.all([recordOne(store, original()), recordOne(other, forged())])

      expect(results.map(({ status }) => status).sort()).toEqual(['accepted', 'conflict'])
    })
  })
}

function outsideWindow(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, signed and outside the time window`, () => {
    const REASON = 'outside the time window'
    const late = (input: EventDraftInput = {}) =>
      anEventDraft({ quarantine: REASON, redelivery: 'count', ...input })

    test('R54: is quarantined with its reason, and known when it comes again', async () => {
      const { store } = await openStore(underTest)

      const first = await recordOne(store, late())

      expect(first).toMatchObject({ status: 'quarantined', reason: REASON })
      expect(await store.operators.findEvent(first.eventId)).toMatchObject({
        key: 'evt_1',
        state: 'quarantined',
        reason: REASON,
      })
      expect(await recordOne(store, late())).toEqual({
        status: 'duplicate',
        eventId: first.eventId,
      })
      expect(await nextDueInMs(store)).toBeUndefined()
      expect(await store.operators.countEvents()).toBe(1)
    })

    test('R54: does not stand in the way of the same event within the window', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, late())

      const prompt = await recordOne(store, anEventDraft())

      expect(prompt.status).toBe('accepted')
      expect(await recordOne(store, late())).toEqual({
        status: 'duplicate',
        eventId: prompt.eventId,
      })
    })

    test('R54: is a duplicate of what is known, and with other content a conflict', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())

      expect(await recordOne(store, late())).toEqual({ status: 'duplicate', eventId })
      expect(await recordOne(store, late({ body: 'other' }))).toMatchObject({ status: 'conflict' })
      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'ready' })
    })

    test('R54: is a conflict where the delivery was signed for other content', async () => {
      const { store } = await openStore(underTest)
      const policy = { sameBytes: 'quarantine', contentHash: 'd'.repeat(32) } as const

      const statuses = [
        await recordOne(store, late({ key: 'a', body: '1', ...policy })),
        await recordOne(store, late({ key: 'b', body: '2', ...policy })),
        await recordOne(store, late({ key: 'c', body: '3', ...policy })),
      ].map(({ status }) => status)

      expect(statuses).toEqual(['quarantined', 'conflict', 'conflict'])
    })

    test('R54: travels in one batch with others, each with its own answer', async () => {
      const { store } = await openStore(underTest)

      const recorded = await store.events.record(
        [late({ key: 'a' }), anEventDraft({ key: 'b' }), late({ key: 'b', body: 'other' })],
        { deadlineMs: DEADLINE_MS },
      )

      expect(recorded.map(({ status }) => status)).toEqual(['quarantined', 'accepted', 'conflict'])
      const states = await Promise.all(
        recorded.map(({ eventId }) => store.operators.findEvent(eventId)),
      )
      expect(states.map((event) => event?.state)).toEqual(['quarantined', 'ready', 'conflict'])
    })

    test('R54: leaves a dead event dead', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      expect(await recordOne(store, late())).toEqual({ status: 'duplicate', eventId })

      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'dead' })
    })
  })
}
