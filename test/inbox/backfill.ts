import { describe, expect, test } from 'vitest'
import type { BackfillClient, BackfillEvent } from '../../src/backfill/index.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { deliver as deliverTo, openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const SINCE = new Date('2026-01-01T00:00:00Z')
const EFFECT = 'insert into effects (event_key, note) values ($1, $2)'

/** As an API tells of an event: other bytes than those of its delivery. */
function told(key: string, type = 'invoice.paid'): BackfillEvent {
  const body = JSON.stringify(
    { type, id: key, created: 1_767_323_045, livemode: false, told: true },
    null,
    2,
  )
  return {
    key,
    type,
    occurredAt: new Date('2026-01-02T03:04:05Z'),
    load: async () => ({
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(body),
    }),
  }
}

/** Tells of these in pages; each page's cursor is its number. */
function tells(...pages: readonly (readonly BackfillEvent[])[]): BackfillClient {
  return {
    list: async ({ cursor = '0' }) => {
      const at = Number(cursor)
      const next = at + 1 < pages.length ? String(at + 1) : undefined
      return { events: pages[at] ?? [], next }
    },
  }
}

/** Runs what is stored, once each. */
async function runAll({ inbox }: InboxUnderTest, count: number): Promise<void> {
  inbox.on('stripe', '*', async ({ key }, { tx }) => {
    await tx.query(EFFECT, [key, 'done'])
  })
  const done = untilDone(inbox, count)
  await inbox.start()
  await done
}

/** What an inbox must do with what a sender tells of. Run by `test/inbox/<store>.test.ts`. */
export function backfillContract(store: StoreUnderTest): void {
  describe(`${store.name}: a back-fill`, () => {
    test('takes in what the inbox lacks, which runs once, and counts what it has', async () => {
      const opened = await openInbox(store)
      const { inbox, deliver, countEffects } = opened
      await deliver('evt_1')
      const from = tells([told('evt_1'), told('evt_2')], [told('evt_2'), told('evt_3')])

      const report = await inbox.backfill('stripe', { from, since: SINCE })
      const again = await inbox.backfill('stripe', { from, since: SINCE })

      expect(report).toMatchObject({
        listed: 3,
        known: 1,
        missing: 2,
        failed: 0,
        isComplete: true,
        missingEvents: [{ key: 'evt_2' }, { key: 'evt_3' }],
      })
      expect(again).toMatchObject({ listed: 3, known: 3, missing: 0 })
      await runAll(opened, 3)
      expect(await countEffects()).toBe(3)
    })

    test('leaves the delivery that comes after all a duplicate, though its bytes are others', async () => {
      const opened = await openInbox(store)
      const { inbox, deliver, countEffects } = opened
      await inbox.backfill('stripe', { from: tells([told('evt_1')]), since: SINCE })

      const answers = [await deliver('evt_1'), await deliver('evt_1', { amount: 2 })]

      expect(answers.map(({ outcome }) => outcome)).toEqual(['duplicate', 'duplicate'])
      expect(await inbox.admin.listEventsByKey('stripe', 'evt_1')).toMatchObject([
        { verifiedBy: 'backfill', type: 'invoice.paid' },
      ])
      await runAll(opened, 1)
      expect(await countEffects()).toBe(1)
    })

    test('beside deliveries of the same events leaves one of each, and no conflict', async () => {
      const opened = await openInbox(store)
      const { inbox, another, countEffects } = opened
      const keys = Array.from({ length: 40 }, (_, n) => `evt_${n}`)
      const from = tells(keys.map((key) => told(key)))
      const receivers = [inbox, another({ worker: false })]

      await Promise.all([
        ...receivers.map((receiver) => receiver.backfill('stripe', { from, since: SINCE })),
        ...keys.flatMap((key) => receivers.map((receiver) => deliverTo(receiver, key))),
      ])

      expect(await inbox.admin.countEvents('stripe')).toBe(keys.length)
      await runAll(opened, keys.length)
      expect(await countEffects()).toBe(keys.length)
    })

    test('with dryRun says what is missing and stores nothing', async () => {
      const { inbox } = await openInbox(store)
      const from = tells([told('evt_1')])

      const report = await inbox.backfill('stripe', { from, since: SINCE, dryRun: true })

      expect(report).toMatchObject({ missing: 1, missingEvents: [{ key: 'evt_1' }] })
      expect(await inbox.admin.countEvents()).toBe(0)
    })

    test('takes the types and the time that were asked for', async () => {
      const { inbox } = await openInbox(store)
      const early = { ...told('evt_early'), occurredAt: new Date('2025-12-31T23:59:59Z') }
      const late = { ...told('evt_late'), occurredAt: new Date('2026-02-01T00:00:01Z') }
      const from = tells([told('evt_1'), told('evt_2', 'charge.failed'), early, late])

      const report = await inbox.backfill('stripe', {
        from,
        since: SINCE,
        until: new Date('2026-02-01T00:00:00Z'),
        types: ['invoice.*'],
      })

      expect(report).toMatchObject({ listed: 1, missing: 1 })
      expect(await inbox.admin.listEventsByKey('stripe', 'evt_1')).toHaveLength(1)
    })

    test('leaves a dead event to an operator', async () => {
      const { inbox, deliverUntil } = await openInbox(store)
      inbox.on('stripe', '*', () => {
        throw permanent('no')
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      const report = await inbox.backfill('stripe', { from: tells([told('evt_1')]), since: SINCE })

      expect(report).toMatchObject({ known: 1, missing: 0 })
      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ state: 'dead' })
    })

    test('that is stopped says why and where, and goes on from there', async () => {
      const { inbox } = await openInbox(store)
      const pages = [[told('evt_1')], [told('evt_2')], [told('evt_3')]]
      let isAway = true
      const whole = tells(...pages)
      const from: BackfillClient = {
        list: async (request) => {
          if (request.cursor === '1' && isAway) throw new Error('the API is away')
          return whole.list(request)
        },
      }
      const stopped = await inbox.backfill('stripe', { from, since: SINCE })
      expect(stopped).toMatchObject({
        missing: 1,
        isComplete: false,
        stoppedBy: 'the API is away',
        cursor: '1',
      })
      isAway = false

      const { cursor = '' } = stopped
      const rest = await inbox.backfill('stripe', { from, since: SINCE, cursor })

      expect(rest).toMatchObject({ missing: 2, isComplete: true, cursor: undefined })
      expect(await inbox.admin.countEvents()).toBe(3)
    })

    test('goes on past an event that cannot be had, and says which', async () => {
      const { inbox } = await openInbox(store)
      const gone = { ...told('evt_1'), load: () => Promise.reject(new Error('it is gone')) }

      const report = await inbox.backfill('stripe', {
        from: tells([gone, told('evt_2')]),
        since: SINCE,
      })

      expect(report).toMatchObject({
        missing: 1,
        failed: 1,
        failedEvents: [{ key: 'evt_1', reason: 'it is gone' }],
        isComplete: true,
      })
    })

    test('ends when it is told to, between two events', async () => {
      const { inbox } = await openInbox(store)
      const abort = new AbortController()
      const last = told('evt_2')
      const second: BackfillEvent = {
        ...last,
        load: async () => {
          abort.abort(new Error('enough'))
          return last.load()
        },
      }

      const report = await inbox.backfill('stripe', {
        from: tells([told('evt_1'), second, told('evt_3')]),
        since: SINCE,
        signal: abort.signal,
      })

      expect(report).toMatchObject({ missing: 2, isComplete: false, stoppedBy: 'enough' })
      expect(await inbox.admin.countEvents()).toBe(2)
    })
  })
}
