import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../support/builders.ts'
import { openStore } from '../support/store-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'
import { claim, dead, DEADLINE_MS, done, recordOne, runOne } from '../support/store-steps.ts'

/** What every store must do when deliveries are recorded. Run by `test/contract/<engine>.test.ts`. */
export function recordContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record`, () => {
    test('the first delivery of an event makes an event', async () => {
      const { store } = await openStore(underTest)

      const recorded = await recordOne(store, anEventDraft({ key: 'evt_1' }))

      expect(recorded.status).toBe('accepted')
      expect(await store.countEvents('stripe')).toBe(1)
      expect(await store.findEvent(recorded.eventId)).toMatchObject({ key: 'evt_1', state: 'ready' })
    })

    test('twenty deliveries of one event at once make one event', async () => {
      const { store } = await openStore(underTest)
      const draft = anEventDraft()

      const results = await Promise.all(Array.from({ length: 20 }, () => recordOne(store, draft)))

      expect(results.filter(({ status }) => status === 'accepted')).toHaveLength(1)
      expect(results.filter(({ status }) => status === 'duplicate')).toHaveLength(19)
      expect(new Set(results.map(({ eventId }) => eventId)).size).toBe(1)
      expect(await store.countEvents()).toBe(1)
    })

    test('the same delivery at two stores at once makes one event', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()

      for (let round = 0; round < 10; round += 1) {
        const draft = anEventDraft({ key: `evt_${round}` })
        const results = await Promise.all([recordOne(store, draft), recordOne(other, draft)])
        expect(results.map(({ status }) => status).sort()).toEqual(['accepted', 'duplicate'])
      }
      expect(await store.countEvents()).toBe(10)
    })

    test('the same key from two sources makes two events', async () => {
      const { store } = await openStore(underTest)

      const first = await recordOne(store, anEventDraft({ source: 'stripe', key: '1' }))
      const second = await recordOne(store, anEventDraft({ source: 'github', key: '1' }))

      expect([first.status, second.status]).toEqual(['accepted', 'accepted'])
      expect(await store.countEvents('github')).toBe(1)
    })

    test('a batch is answered in its order, whatever becomes of each draft', async () => {
      const { store } = await openStore(underTest)
      const known = await recordOne(store, anEventDraft({ key: 'known' }))
      const keys = ['z', 'known', 'a', 'm']

      const recorded = await store.recordEvents(
        keys.map((key) => anEventDraft({ key })),
        { deadlineMs: DEADLINE_MS },
      )

      expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'duplicate', 'accepted', 'accepted'])
      expect(recorded[1]?.eventId).toBe(known.eventId)
      const events = await Promise.all(recorded.map(({ eventId }) => store.findEvent(eventId)))
      expect(events.map((event) => event?.key)).toEqual(keys)
    })

    test('an empty batch has no answers', async () => {
      const { store } = await openStore(underTest)

      expect(await store.recordEvents([], { deadlineMs: DEADLINE_MS })).toEqual([])
    })

    // The sender must not wait for as long as a handler runs to hear that we have the event.
    test('a duplicate is answered while a group holds the event', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const first = await recordOne(store, anEventDraft())
      const group = await claim(store)
      await group.settle(group.events.map(done))

      const again = await recordOne(store, anEventDraft())
      const elsewhere = await recordOne(other, anEventDraft())

      expect(again).toEqual({ status: 'duplicate', eventId: first.eventId })
      expect(elsewhere).toEqual({ status: 'duplicate', eventId: first.eventId })
      expect(await group.commit()).toEqual({ status: 'committed' })
    })

    test('a redelivery of an event that is done is a duplicate', async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)

      expect(await recordOne(store, anEventDraft())).toEqual({ status: 'duplicate', eventId })
      expect(await store.findEvent(eventId)).toMatchObject({ state: 'done' })
    })

    if (underTest.capabilities.recordsBesideGroup) {
      test('a new event is stored while a group is open', async () => {
        const { store } = await openStore(underTest)
        await recordOne(store, anEventDraft({ key: 'held' }))
        const group = await claim(store)

        expect(await recordOne(store, anEventDraft({ key: 'new' }))).toMatchObject({ status: 'accepted' })

        await group.abandon()
      })
    } else {
      test('a new event that cannot wait for the open group is refused, and is not stored later', async () => {
        const { store } = await openStore(underTest)
        await recordOne(store, anEventDraft({ key: 'held' }))
        const group = await claim(store)
        const fresh = anEventDraft({ key: 'new' })

        await expect(store.recordEvents([fresh], { deadlineMs: 1 })).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
        })

        await group.abandon()
        expect(await recordOne(store, fresh)).toMatchObject({ status: 'accepted' })
      })
    }
  })

  conflicts(underTest)
  sameBytes(underTest)
  revivals(underTest)
  bytes(underTest)
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
      const kept = await store.listEventsByKey('stripe', 'evt_1')
      expect(kept.map(({ id, state }) => [id, state])).toEqual([
        [first.eventId, 'ready'],
        [second.eventId, 'conflict'],
      ])
      await runOne(store, done)
      expect(await store.nextDueInMs()).toBeUndefined()
    })

    test('is a conflict within one batch', async () => {
      const { store } = await openStore(underTest)

      const recorded = await store.recordEvents([original(), changed()], { deadlineMs: DEADLINE_MS })

      expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'conflict'])
      expect(await store.countEvents()).toBe(2)
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

      expect(await recordOne(store, changed())).toEqual({ status: 'duplicate', eventId: conflict.eventId })
      expect(await recordOne(await second(), changed())).toMatchObject({ status: 'duplicate' })
      expect(await store.countEvents()).toBe(2)
    })

    test('leaves the first to be known as before', async () => {
      const { store } = await openStore(underTest)
      const first = await recordOne(store, original())
      await recordOne(store, changed())

      expect(await recordOne(store, original())).toEqual({ status: 'duplicate', eventId: first.eventId })
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

      expect(captured).toMatchObject({ status: 'quarantined', reason: 'same bytes under another key' })
      expect(await store.findEvent(captured.eventId)).toMatchObject({
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
      expect(await store.countEvents()).toBe(1)
    })

    test('is noticed within one batch', async () => {
      const { store } = await openStore(underTest)
      const policies = ['quarantine', 'duplicate'] as const

      for (const policy of policies) {
        const recorded = await store.recordEvents(
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
      expect(await store.findEvent(first.eventId)).toMatchObject({
        key: undefined,
        state: 'quarantined',
        reason: 'no key',
      })
      expect(await recordOne(store, anEventDraft({ key: undefined }))).toEqual({
        status: 'duplicate',
        eventId: first.eventId,
      })
      expect(await store.nextDueInMs()).toBeUndefined()
    })
  })
}

function revivals(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, a dead event delivered again`, () => {
    test("is queued again under 'retry', with its attempts at zero", async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      const again = await recordOne(store, anEventDraft({ redelivery: 'retry' }))

      expect(again).toEqual({ status: 'revived', eventId })
      expect(await store.findEvent(eventId)).toMatchObject({ state: 'ready', attempts: 0, outcome: undefined })
      expect((await claim(store)).events).toMatchObject([{ eventId, attempt: 1 }])
    })

    test('is revived by one of many deliveries at once', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      await runOne(store, dead)

      const results = await Promise.all([store, other, store, other].map((s) => recordOne(s, anEventDraft())))

      expect(results.map(({ status }) => status).sort()).toEqual([
        'duplicate',
        'duplicate',
        'duplicate',
        'revived',
      ])
    })

    test("stays dead under 'count'", async () => {
      const { store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, dead)

      expect(await recordOne(store, anEventDraft({ redelivery: 'count' }))).toEqual({
        status: 'duplicate',
        eventId,
      })
      expect(await store.findEvent(eventId)).toMatchObject({ state: 'dead' })
    })
  })
}

function bytes(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, byte for byte`, () => {
    const bodies: readonly [string, Uint8Array][] = [
      ['no bytes', new Uint8Array(0)],
      ['a NUL, and one written as an escape', Buffer.from('{"a":"\u0000","b":"\\u0000"}')],
      ['a lone surrogate, as an escape and as bytes', Buffer.from('7b5c75643830307d eda080'.replace(' ', ''), 'hex')],
      ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x80, 0x00, 0xc3, 0x28])],
      ['a byte order mark', Buffer.from('\ufeff{}')],
      ['nesting 20,000 deep', Buffer.from('['.repeat(20_000) + ']'.repeat(20_000))],
      ['a view into a larger buffer', new Uint8Array(Buffer.from('xx{"a":1}xx')).subarray(2, 9)],
    ]

    test.each(bodies)('a body with %s is kept', async (_, body) => {
      const { store } = await openStore(underTest)

      const { eventId } = await recordOne(store, anEventDraft({ body }))

      const [claimed] = (await claim(store)).events
      expect(toHex(claimed?.body)).toBe(toHex(body))
      expect(toHex((await store.findEvent(eventId))?.body)).toBe(toHex(body))
    })

    const keys: readonly [string, string][] = [
      ['6,000 characters', 'k'.repeat(6_000)],
      ['a NUL', 'evt\u0000_1'],
      ['a line break', 'evt\r\n_1'],
      ['an emoji', 'evt_🪝'],
      ['quotes', `evt'";--`],
      ['nothing in it', ''],
    ]

    test.each(keys)('a key with %s is kept', async (_, key) => {
      const { store } = await openStore(underTest)

      const { eventId } = await recordOne(store, anEventDraft({ key }))

      expect(await store.findEvent(eventId)).toMatchObject({ key })
      expect((await store.listEventsByKey('stripe', key)).map(({ id }) => id)).toEqual([eventId])
      expect((await claim(store)).events).toMatchObject([{ key }])
    })

    test('headers, times and the evidence are kept', async () => {
      const { store } = await openStore(underTest)
      const headers = { 'x-a': 'a\u0000"é', 'x-b': ['1', '2'], 'constructor': 'no trap' }
      const receivedAt = new Date('2026-03-04T05:06:07.089Z')
      const occurredAt = new Date('1969-12-31T23:59:59.999Z')

      const { eventId } = await recordOne(store, anEventDraft({ headers, receivedAt, occurredAt, secret: 'old' }))

      expect(await store.findEvent(eventId)).toMatchObject({ headers, receivedAt, occurredAt, secret: 'old' })
      expect((await claim(store)).events).toMatchObject([{ headers, receivedAt, occurredAt }])
    })

    test('a type with a NUL in it is not taken for the type before the NUL', async () => {
      const { store } = await openStore(underTest)

      await recordOne(store, anEventDraft({ type: 'invoice.paid\u0000' }))

      expect((await claim(store)).events[0]?.type).not.toBe('invoice.paid')
    })
  })
}

function toHex(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString('hex')
}
