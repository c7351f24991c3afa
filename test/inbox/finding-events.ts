import { describe, expect, test } from 'vitest'
import { createEventFinder } from '../../src/admin/event-finder.ts'
import type { EventFinder } from '../../src/admin/event-finder.ts'
import type { EventQuery } from '../../src/admin/event-query.ts'
import type { EventState } from '../../src/model/event-state.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from '../support/builders.ts'
import type { EventDraftInput } from '../support/builders.ts'
import { recordKeys, sort } from '../support/lane-steps.ts'
import {
  claim,
  dead,
  done,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../support/store-steps.ts'
import { openStore } from '../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

/** How `admin.list` and `admin.find` find events, on every store. Run by `test/inbox/finding-<store>.test.ts`. */
export function findingEventsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: finding events`, () => {
    test('events are listed newest first, page by page, each once', async () => {
      const { store, finder } = await open(underTest)
      const ids = await recordAll(store, ['a', 'b', 'c', 'd', 'e'])

      const first = await finder.list({ limit: 2 })
      const second = await finder.list({ limit: 2, cursor: first.cursor ?? '' })
      const third = await finder.list({ limit: 2, cursor: second.cursor ?? '' })

      expect([first, second, third].map(({ events }) => events.map(({ id }) => id))).toEqual([
        [ids[4], ids[3]],
        [ids[2], ids[1]],
        [ids[0]],
      ])
      expect(third.cursor).toBeUndefined()
    })

    test('an event in a list says what it is and how it stands, without its body', async () => {
      const { store, finder } = await open(underTest)
      const occurredAt = new Date('2026-01-01T00:00:00.000Z')
      const { eventId } = await recordOne(store, anEventDraft({ body: '{"a":1}', occurredAt }))
      await runOne(store, dead)

      const { events } = await finder.list()

      expect(events).toEqual([
        {
          id: eventId,
          source: 'stripe',
          type: 'invoice.paid',
          key: 'evt_1',
          state: 'dead',
          reason: 'gave up',
          run: 0,
          attempts: 1,
          crashes: 0,
          error: 'Error: no luck',
          handler: undefined,
          receivedAt: new Date('2026-01-02T03:04:05.678Z'),
          occurredAt,
          nextRunAt: undefined,
          settledAt: expect.any(Date) as Date,
          // As it is stored.
          bodyBytes: underTest.encrypts === true ? 7 + 54 : 7,
        },
      ])
    })

    test('events are listed by state, one or several, each with its reason', async () => {
      const { store, finder } = await open(underTest)
      await fillEveryState(store)
      const list = async (state: EventQuery['state'] & {}) =>
        (await finder.list({ state })).events.map(({ key, reason }) => [key, reason])

      expect(await list('dead')).toEqual([['dead', 'gave up']])
      expect(await list('skipped')).toEqual([['skipped', 'not ours']])
      expect(await list('done')).toEqual([['done', undefined]])
      expect(await list('unhandled')).toEqual([['unhandled', 'no handler for its type']])
      expect(await list('conflict')).toEqual([['done', 'same key, other content']])
      expect(await list('quarantined')).toEqual([[undefined, 'no key']])
      expect(await list('ready')).toEqual([
        ['retrying', undefined],
        ['ready', undefined],
      ])
      expect((await finder.failures()).events.map(({ state }) => state)).toEqual([
        'quarantined',
        'conflict',
        'unhandled',
        'skipped',
        'dead',
      ])
      const withoutSuccess: EventState[] = [
        'dead',
        'skipped',
        'unhandled',
        'conflict',
        'quarantined',
      ]
      expect((await list(withoutSuccess)).map(([key]) => key)).toEqual([
        undefined,
        'done',
        'unhandled',
        'skipped',
        'dead',
      ])
    })

    test('several states are one list, also where one of them has a page of its own before the other', async () => {
      const { store, finder } = await open(underTest)
      const keys = Array.from({ length: 60 }, (_, n) => `quarantined ${n}`)
      await recordAll(store, ['dead'])
      await runOne(store, dead)
      for (const key of keys)
        await recordOne(store, anEventDraft({ key, quarantine: 'no key', body: key }))
      await recordAll(store, ['dead too'])
      await runOne(store, dead)

      const found: (string | undefined)[] = []
      let cursor: string | undefined
      do {
        const page = await finder.list({
          state: ['dead', 'quarantined'],
          limit: 7,
          ...(cursor !== undefined && { cursor }),
        })
        found.push(...page.events.map(({ key }) => key))
        cursor = page.cursor
      } while (cursor !== undefined)

      expect(found).toEqual(['dead too', ...keys.toReversed(), 'dead'])
      // Also where a page looks on, because what it has seen does not fit.
      const state = ['dead', 'quarantined'] as const
      expect(await keysOf(finder, { state, text: 'gave up', limit: 10 })).toEqual([
        'dead too',
        'dead',
      ])
    })

    test('an event that is being run is listed as running', async () => {
      const { store, finder } = await open(underTest)
      const [eventId = ''] = await recordAll(store, ['slow', 'waits'])
      await store.workers.announce({ workerId: 'worker-1', slot: 0 }, [{ eventId, attempt: 1 }])

      expect(await keysOf(finder, { state: 'running' })).toEqual(['slow'])
      expect(await keysOf(finder, { state: 'ready' })).toEqual(['waits'])
      expect(await keysOf(finder, { state: ['ready', 'running'] })).toEqual(['waits', 'slow'])
    })

    test('events are listed by source, type, attempts and what went wrong', async () => {
      const { store, finder } = await open(underTest)
      await recordAll(store, ['mine', 'other'], { source: 'github', type: 'push' })
      await recordAll(store, ['fails'])
      await runOne(store, (event) => ({
        ...dead(event),
        failure: { ...dead(event).failure, message: 'CardError: card 4242 was Declined (É)' },
      }))
      await recordAll(store, ['fine'])

      expect(await keysOf(finder, { source: 'github' })).toEqual(['other', 'mine'])
      expect(await keysOf(finder, { source: 'github', type: 'push', state: 'ready' })).toHaveLength(
        2,
      )
      expect(await keysOf(finder, { type: 'pus' })).toEqual([])
      expect(await keysOf(finder, { attempts: 1 })).toEqual(['fails'])
      expect(await keysOf(finder, { text: 'was declined' })).toEqual(['fails'])
      expect(await keysOf(finder, { text: '(É)', state: 'dead' })).toEqual(['fails'])
      expect(await keysOf(finder, { text: '%' })).toEqual([])
      expect(await keysOf(finder, { text: 'GAVE UP' })).toEqual(['fails'])
    })

    test('events are listed by their lane, with the dead ones that hold it up', async () => {
      const { store, finder } = await open(underTest)
      const keys = Array.from({ length: 60 }, (_, n) => `K${String(n).padStart(2, '0')}`)
      await recordKeys(store, [...keys, 'L1'])
      await sort(store)
      await runOne(store, dead, { kind: 'head' })
      const lane = { source: 'stripe', key: 'K' }

      const first = await finder.list({ lane, limit: 50 })
      const second = await finder.list({ lane, limit: 50, cursor: first.cursor ?? '' })

      const found = [...first.events, ...second.events]
      expect(found.map(({ key }) => key)).toEqual(keys.toReversed())
      expect(await keysOf(finder, { lane, state: 'dead' })).toEqual(['K00'])
      expect(await keysOf(finder, { lane: { source: 'stripe', key: 'L' } })).toEqual(['L1'])
      expect(await keysOf(finder, { lane: { source: 'github', key: 'K' } })).toEqual([])
      expect(await keysOf(finder, { lane, source: 'github' })).toEqual([])
      expect(await keysOf(finder, { lane: { source: 'stripe', key: "'\0" } })).toEqual([])
    })

    test('events are listed by when the database stored them', async () => {
      const { store, finder } = await open(underTest)
      await recordAll(store, ['here'])
      const hour = 3_600_000
      const now = await databaseTime(store)

      expect(await keysOf(finder, { after: new Date(now - hour) })).toEqual(['here'])
      expect(await keysOf(finder, { after: new Date(now + hour) })).toEqual([])
      expect(await keysOf(finder, { before: new Date(now + hour) })).toEqual(['here'])
      expect(await keysOf(finder, { before: new Date(now - hour) })).toEqual([])
    })

    test('a key finds its event without its source, and what was kept beside it', async () => {
      const { store, finder } = await open(underTest)
      await recordAll(store, ['evt_1', 'evt_2'])
      await recordOne(store, anEventDraft({ key: 'evt_1', body: '{"amount":2}' }))
      await recordAll(store, ['evt_1'], { source: 'github' })

      expect((await finder.find('evt_1')).map(({ source, state }) => [source, state])).toEqual([
        ['github', 'ready'],
        ['stripe', 'conflict'],
        ['stripe', 'ready'],
      ])
      expect(await keysOf(finder, { key: 'evt_1', state: 'conflict' })).toEqual(['evt_1'])
      expect(await keysOf(finder, { key: 'evt_1', source: 'github' })).toEqual(['evt_1'])
      expect(await finder.find('evt_')).toEqual([])
    })

    test('an id finds its event, in capitals and with spaces around it', async () => {
      const { store, finder } = await open(underTest)
      const [, id = ''] = await recordAll(store, ['a', 'b', 'c'])

      expect(await finder.find(` ${id.toUpperCase()}\n`)).toMatchObject([{ id, key: 'b' }])
    })

    test('a key finds its event with spaces around it, and one that is kept with a space finds its own', async () => {
      const { store, finder } = await open(underTest)
      await recordAll(store, ['a', 'a ', 'b'])

      expect(await finder.find(' b\n')).toMatchObject([{ key: 'b' }])
      expect(await finder.find('a ')).toMatchObject([{ key: 'a ' }])
      expect(await finder.find('a')).toMatchObject([{ key: 'a' }])
    })

    test.each([
      ['a text', '$.data.customer', 'cus_9', ['text']],
      ['a number', '$.data.customer', 9, ['number']],
      [
        'the digits of a number that would be rounded',
        '$.data.customer',
        '9007199254740993',
        ['large'],
      ],
      ['a value in a list', '$.data.items[1].id', 'b', ['text']],
      ['null', '$.data.customer', null, ['null']],
      ['true', '$.data.customer', true, ['true']],
      ['a name that every object has', '$.data.constructor', null, []],
      ['a field of a form', '$.customer', 'cus_9', ['form']],
    ] as const)('a payload is found by %s', async (_, path, equals, keys) => {
      const { store, finder } = await open(underTest)
      await recordPayloads(store)

      expect(await keysOf(finder, { where: { path, equals } })).toEqual(keys)
    })

    test('a page looks at no more than 10,000 events, and the next one looks on', async () => {
      const { store, finder } = await open(underTest)
      const search = countingSearch(store)
      const counted = createEventFinder((question) => question({ ...storeOf(store), search }))
      await recordAll(store, ['first'], { source: 'rare' })
      await recordMany(store, 10_050)

      const page = await counted.list({ source: 'rare' })
      expect(page).toMatchObject({ events: [], lookedAt: 10_000 })
      expect(search.looked()).toBeLessThanOrEqual(10_500)

      const next = await finder.list({ source: 'rare', cursor: page.cursor ?? '' })
      expect(next.events.map(({ key }) => key)).toEqual(['first'])
      expect(next).toMatchObject({ cursor: undefined, lookedAt: 51 })
    })

    test('a page reads no more than 16 MiB of payloads, and the next one reads on', async () => {
      const { store, finder } = await open(underTest)
      const large = `{"pad":"${'x'.repeat(2 * 1024 * 1024)}"}`
      await recordAll(store, ['wanted'], { body: '{"id":7}' })
      for (let n = 0; n < 10; n += 1) await recordAll(store, [`large ${n}`], { body: large })
      const where = { path: '$.id', equals: 7 }

      const page = await finder.list({ where })
      expect(page).toMatchObject({ events: [], lookedAt: 8 })

      const next = await finder.list({ where, cursor: page.cursor ?? '' })
      expect(next.events.map(({ key }) => key)).toEqual(['wanted'])
    })

    test('texts of a sender are cut in a list, and break nothing', async () => {
      const { store, finder } = await open(underTest)
      const key = `\u0000\ud800${'é😀'.repeat(400_000)}`
      await recordOne(store, anEventDraft({ key, type: `odd\u0000\udfff${'t'.repeat(5_000)}` }))

      const { events } = await finder.list()
      expect(events[0]?.key?.length).toBeGreaterThan(1_000)
      expect(events[0]?.key?.length).toBeLessThanOrEqual(1_024)
      expect(events[0]?.key?.isWellFormed()).toBe(true)
      expect(events[0]?.type.length).toBe(1_024)
      expect(await finder.find(key)).toHaveLength(1)
      for (const text of ['\u0000', '\ud800', "'; drop table events --", '%', '\\']) {
        expect(await finder.list({ text, source: text, type: text, key: text })).toMatchObject({
          events: [],
        })
      }
    })
  })
}

interface Opened {
  readonly store: Store<QueryTx>
  readonly finder: EventFinder
}

async function open(underTest: StoreUnderTest): Promise<Opened> {
  const { store } = await openStore(underTest)
  return { store, finder: createEventFinder((question) => question(storeOf(store))) }
}

function storeOf(store: Store<QueryTx>): Store<unknown> {
  return store
}

async function recordAll(
  store: Store<QueryTx>,
  keys: readonly string[],
  input: EventDraftInput = {},
): Promise<string[]> {
  const ids: string[] = []
  for (const key of keys)
    ids.push(
      (await recordOne(store, anEventDraft({ body: `{"key":"${key}"}`, ...input, key }))).eventId,
    )
  return ids
}

async function recordMany(store: Store<QueryTx>, count: number): Promise<void> {
  for (let at = 0; at < count; at += 500) {
    const drafts = Array.from({ length: Math.min(500, count - at) }, (_, n) =>
      anEventDraft({ key: `many ${at + n}`, body: `${at + n}` }),
    )
    await store.events.record(drafts, { deadlineMs: 60_000 })
  }
}

async function keysOf(finder: EventFinder, query: EventQuery): Promise<(string | undefined)[]> {
  return (await finder.list(query)).events.map(({ key }) => key)
}

/** One event in each state but `running`, its key the name of the state; the conflict has the key of the done one. */
async function fillEveryState(store: Store<QueryTx>): Promise<void> {
  for (const [key, becomes] of [
    ['done', done],
    ['dead', dead],
    ['skipped', skipped],
    ['unhandled', unhandled],
  ] as const) {
    await recordAll(store, [key])
    await runOne(store, becomes)
  }
  await recordOne(store, anEventDraft({ key: 'done', body: 'other' }))
  await recordOne(store, anEventDraft({ key: undefined, body: 'no key' }))
  await recordAll(store, ['ready', 'retrying'])
  const group = await claim(store, { limit: 2 })
  const event = group.events.find(({ key }) => key === 'retrying')
  if (event !== undefined) await group.settle([retryIn(3_600_000)(event)])
  await group.commit()
}

async function recordPayloads(store: Store<QueryTx>): Promise<void> {
  const payloads: Record<string, string> = {
    text: '{"data":{"customer":"cus_9","items":[{"id":"a"},{"id":"b"}]}}',
    number: '{"data":{"customer":9}}',
    large: '{"data":{"customer":9007199254740993}}',
    null: '{"data":{"customer":null}}',
    true: '{"data":{"customer":true}}',
    broken: '{"data":{"customer":"cus_9"',
    odd: '{"data":{"customer":"\\u0000\\ud800"}}',
  }
  for (const [key, body] of Object.entries(payloads)) await recordAll(store, [key], { body })
  await recordAll(store, ['form'], {
    body: 'customer=cus_9&n=1',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
}

/** By the clock that ids are made by. */
async function databaseTime(store: Store<QueryTx>): Promise<number> {
  return (await store.events.beat(undefined)).now.getTime()
}

/** The same search, which counts what it is asked to look at. */
function countingSearch(store: Store<QueryTx>): Store<unknown>['search'] & { looked(): number } {
  let looked = 0
  return {
    ...store.search,
    walk: async (request) => {
      const found = await store.search.walk(request)
      looked += found.length
      return found
    },
    looked: () => looked,
  }
}
