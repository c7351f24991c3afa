import { describe, expect, test } from 'vitest'
import { findOrderText } from '../../../src/model/order-text.ts'
import { anEventDraft } from '../../support/builders.ts'
import { claim, DEADLINE_MS, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

const BEYOND_2_64 = '18446744073709551617'
const AT = '2025-10-09T08:53:20.123456789Z'

/** What every store must do with what tells the order of events. */
export function recordOrderContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: the version and the sequence of an event`, () => {
    const drafts = [
      anEventDraft({ key: 'a', version: findOrderText(AT), sequence: findOrderText(BEYOND_2_64) }),
      anEventDraft({ key: 'b', version: findOrderText(7) }),
      anEventDraft({ key: 'c' }),
      anEventDraft({ key: 'd', sequence: findOrderText('é🪝') }),
    ]
    const kept = [
      { key: 'a', version: AT, sequence: BEYOND_2_64 },
      { key: 'b', version: '7', sequence: undefined },
      { key: 'c', version: undefined, sequence: undefined },
      { key: 'd', version: undefined, sequence: 'é🪝' },
    ]

    test('are kept to the last digit, of each event of a batch', async () => {
      const { store } = await openStore(underTest)
      const recorded = await store.recordEvents(drafts, { deadlineMs: DEADLINE_MS })

      const found = await Promise.all(recorded.map(({ eventId }) => store.findEvent(eventId)))

      expect(found.map(pick)).toEqual(kept)
      expect((await store.listEventsByKey('stripe', 'a')).map(pick)).toEqual([kept[0]])
    })

    test('are kept in a batch of which some are known already', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, drafts[2]!)

      const recorded = await store.recordEvents(drafts, { deadlineMs: DEADLINE_MS })

      expect(recorded.map(({ status }) => status)).toContain('duplicate')
      const found = await Promise.all(recorded.map(({ eventId }) => store.findEvent(eventId)))
      expect(found.map(pick)).toEqual(kept)
    })

    test('are kept of a conflict and of what is quarantined', async () => {
      const { store } = await openStore(underTest)
      await recordOne(store, drafts[0]!)
      const order = { version: findOrderText(8), sequence: findOrderText(9) }

      const parked = [
        await recordOne(store, anEventDraft({ key: 'a', body: 'other', ...order })),
        await recordOne(store, anEventDraft({ key: 'q', quarantine: 'too many events', ...order })),
      ]

      expect(parked.map(({ status }) => status)).toEqual(['conflict', 'quarantined'])
      for (const { eventId } of parked)
        expect(await store.findEvent(eventId)).toMatchObject({ version: '8', sequence: '9' })
    })

    test('are there when it is claimed, as texts that sort as they do', async () => {
      const { store } = await openStore(underTest)
      await store.recordEvents(drafts, { deadlineMs: DEADLINE_MS })

      const group = await claim(store)

      expect(group.events.map(pick)).toEqual(drafts.map(pick))
      await group.abandon()
    })

    test('sort in the database as they do', async () => {
      const { store, database } = await openStore(underTest)
      const versions = ['2', '10', '9', BEYOND_2_64, '1.5', '1']
      for (const version of versions)
        await recordOne(store, anEventDraft({ key: version, version: findOrderText(version) }))

      const rows = await database
        .query('select version from hookonce.events order by version')
        .catch(() => database.query('select version from hookonce_events order by version'))

      expect(rows.map((row) => row['version'])).toEqual(
        ['1', '1.5', '2', '9', '10', BEYOND_2_64].map(findOrderText),
      )
    })
  })
}

interface Ordered {
  readonly key: string | undefined
  readonly version: string | undefined
  readonly sequence: string | undefined
}

function pick(event: Ordered | undefined) {
  return event && { key: event.key, version: event.version, sequence: event.sequence }
}
