import { describe, expect, test } from 'vitest'
import type { EventDraft, Recorded } from '../../../src/model/event.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { anEventDraft } from '../../support/builders.ts'
import type { EventDraftInput } from '../../support/builders.ts'
import { claim, DEADLINE_MS } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { OpenedStore, QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must do with requests that carry several events. Part of `recordContract`. */
export function recordRequestsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: record, several events of one request`, () => {
    test('keeps the request once, and finds it from each of its events', async () => {
      const opened = await openStore(underTest)
      const request = Buffer.from([0x5b, 0xff, 0x00, 0x5d])

      const recorded = await record(opened.store, partsOf(request, ['a', 'b', 'c']))

      expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted'])
      expect(await countRequests(opened)).toBe(1)
      for (const { eventId } of recorded)
        expect(await findRequest(opened, eventId)).toEqual(request)
      const group = await claim(opened.store)
      expect(group.events.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
      await group.abandon()
    })

    test('finds the body of an event that is its whole request', async () => {
      const opened = await openStore(underTest)
      const [recorded] = await record(opened.store, [anEventDraft({ body: '{"alone":true}' })])

      const found = await findRequest(opened, recorded?.eventId)

      expect(found?.toString()).toBe('{"alone":true}')
      expect(await countRequests(opened)).toBe(0)
      expect(await findRequest(opened, '01890a5d-ac96-774b-bcce-b302099a8057')).toBeUndefined()
    })

    test('keeps two requests apart that are stored together', async () => {
      const opened = await openStore(underTest)
      const [one, two] = [Buffer.from('[1,2]'), Buffer.from('[3]')]

      const recorded = await record(opened.store, [
        ...partsOf(one, ['a', 'b']),
        ...partsOf(two, ['c']),
        anEventDraft({ key: 'alone', body: 'alone' }),
      ])

      const found = await Promise.all(recorded.map(({ eventId }) => findRequest(opened, eventId)))
      expect(found.map(String)).toEqual(['[1,2]', '[1,2]', '[3]', 'alone'])
      expect(await countRequests(opened)).toBe(2)
    })

    test('leaves nothing of a request whose events are all known', async () => {
      const opened = await openStore(underTest)
      await record(opened.store, partsOf(Buffer.from('first'), ['a', 'b']))

      const again = await record(opened.store, partsOf(Buffer.from('second'), ['b', 'a']))

      expect(again.map(({ status }) => status)).toEqual(['duplicate', 'duplicate'])
      expect(await countRequests(opened)).toBe(1)
    })

    test.each(['run', 'quarantine'] as const)(
      'keeps a request for what is new of it, beside what is known or a conflict (%s)',
      async (sameBytes) => {
        const opened = await openStore(underTest)
        const first = partsOf(Buffer.from('first'), ['a'], { sameBytes })
        const [known] = await record(opened.store, first)
        const request = Buffer.from('second')

        const recorded = await record(opened.store, [
          ...partsOf(request, ['a', 'b'], { sameBytes }),
          anEventDraft({ key: 'a', body: 'other content', request, sameBytes }),
        ])

        expect(recorded.map(({ status }) => status)).toEqual(['duplicate', 'accepted', 'conflict'])
        expect((await findRequest(opened, known?.eventId))?.toString()).toBe('first')
        for (const { eventId } of recorded.slice(1))
          expect((await findRequest(opened, eventId))?.toString()).toBe('second')
        expect(await countRequests(opened)).toBe(2)
      },
    )

    test('keeps a request of which only a conflict is new', async () => {
      const opened = await openStore(underTest)
      await record(opened.store, [anEventDraft({ key: 'a', body: 'one' })])
      const request = Buffer.from('whole')

      const [conflict] = await record(opened.store, [
        anEventDraft({ key: 'a', body: 'two', request }),
      ])

      expect(conflict?.status).toBe('conflict')
      expect(await findRequest(opened, conflict?.eventId)).toEqual(request)
    })

    test('R61: stores as many events as one delivery may carry, and knows them again', async () => {
      const opened = await openStore(underTest)
      const request = Buffer.from(`[${'1,'.repeat(9_999)}1]`)
      const keys = Array.from({ length: 10_000 }, (_, n) => `evt_${n}`)
      const drafts = partsOf(request, keys)

      const first = await record(opened.store, drafts)
      const again = await record(opened.store, drafts)
      const regrouped = await record(opened.store, [
        ...drafts.slice(1),
        ...partsOf(Buffer.from('[2]'), ['new']),
      ])

      expect(count(first)).toEqual({ accepted: 10_000 })
      expect(count(again)).toEqual({ duplicate: 10_000 })
      expect(count(regrouped)).toEqual({ duplicate: 9_999, accepted: 1 })
      expect(again.map(({ eventId }) => eventId)).toEqual(first.map(({ eventId }) => eventId))
      expect(await opened.store.operators.countEvents()).toBe(10_001)
      expect(await countRequests(opened)).toBe(2)
    })
  })

  describe(`${underTest.name}: record, an event that its delivery quarantines`, () => {
    test('is parked with the reason, beside others that run', async () => {
      const { store } = await openStore(underTest)

      const recorded = await record(store, [
        anEventDraft({ key: undefined, body: 'whole', quarantine: 'too many events' }),
        anEventDraft({ key: 'named', body: 'named', quarantine: 'too many events' }),
        anEventDraft({ key: undefined, body: 'keyless' }),
        anEventDraft({ key: 'runs' }),
      ])

      expect(recorded.map(({ status, reason }) => [status, reason])).toEqual([
        ['quarantined', 'too many events'],
        ['quarantined', 'too many events'],
        ['quarantined', 'no key'],
        ['accepted', undefined],
      ])
      const events = await Promise.all(
        recorded.map(({ eventId }) => store.operators.findEvent(eventId)),
      )
      expect(events.map((event) => [event?.state, event?.reason])).toEqual([
        ['quarantined', 'too many events'],
        ['quarantined', 'too many events'],
        ['quarantined', 'no key'],
        ['ready', undefined],
      ])
      const group = await claim(store)
      expect(group.events.map(({ key }) => key)).toEqual(['runs'])
      await group.abandon()
    })
  })
}

function partsOf(
  request: Uint8Array,
  keys: readonly string[],
  input: EventDraftInput = {},
): readonly EventDraft[] {
  return keys.map((key) => anEventDraft({ key, body: `{"id":"${key}"}`, request, ...input }))
}

function record(
  store: Store<QueryTx>,
  drafts: readonly EventDraft[],
): Promise<readonly Recorded[]> {
  // Ten thousand at once on a machine that has much else to do.
  return store.events.record(drafts, { deadlineMs: DEADLINE_MS * 5 })
}

async function findRequest(
  { store }: OpenedStore,
  eventId: string | undefined,
): Promise<Buffer | undefined> {
  const found = await store.operators.findRequest(eventId ?? '')
  return found && Buffer.from(found)
}

async function countRequests({ store, database }: OpenedStore): Promise<number> {
  const table = store.engine === 'sqlite' ? 'hookonce_requests' : 'hookonce.requests'
  const [row] = await database.query(`select count(*) as count from ${table}`)
  return Number(row?.['count'])
}

function count(recorded: readonly Recorded[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of recorded) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
