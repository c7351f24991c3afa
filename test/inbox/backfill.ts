import { describe, expect, test } from 'vitest'
import type { BackfillClient, BackfillEvent } from '../../src/backfill/index.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { deliver as deliverTo, openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { anEventDraft } from '../support/builders.ts'
import { apply, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { Sent } from '../support/ordered-inbox.ts'
import { limitsIn, pruneRows } from '../support/retention-steps.ts'
import { recordOne } from '../support/store-steps.ts'
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

/** The same, where a page cannot be had as long as `isAway`. */
function away(
  cursor: string,
  ...pages: readonly (readonly BackfillEvent[])[]
): BackfillClient & { isAway: boolean } {
  const whole = tells(...pages)
  return {
    isAway: true,
    async list(request) {
      if (request.cursor === cursor && this.isAway) throw new Error('the API is away')
      return whole.list(request)
    },
  }
}

/** An event of a lane, so many seconds after the beginning. */
function toldAt(id: string, second: number): BackfillEvent {
  const sent: Sent = { id, lane: 'K', type: 'item.changed' }
  return {
    ...told(id, 'item.changed'),
    occurredAt: new Date(SINCE.getTime() + second * 1_000),
    load: async () => ({ headers: {}, body: Buffer.from(JSON.stringify(sent)) }),
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
        missingEvents: [{ key: 'evt_3' }, { key: 'evt_2' }],
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

    test('goes by the keys, in a dry run as in a run: what was erased or pruned is known, what was forgotten is not', async () => {
      const opened = await openInbox(store)
      const { inbox, deliverUntil, store: own } = opened
      inbox.on('stripe', '*', () => undefined)
      await inbox.start()
      const pruned = await deliverUntil('evt_pruned', 'event.done')
      await pruneRows(own, limitsIn(31))
      expect(await inbox.admin.findEvent(pruned.eventId)).toMatchObject({ payload: 'pruned' })
      const erased = await deliverUntil('evt_erased', 'event.done')
      await inbox.admin.erase(erased.eventId, { reason: 'asked for' })
      const forgotten = await deliverUntil('evt_forgotten', 'event.done')
      await inbox.admin.forget(forgotten.eventId)
      const keys = ['evt_pruned', 'evt_erased', 'evt_forgotten', 'evt_new']
      const options = { from: tells(keys.map((key) => told(key))), since: SINCE }
      const expected = { listed: 4, known: 2, missing: 2 }

      const dry = await inbox.backfill('stripe', { ...options, dryRun: true })
      const run = await inbox.backfill('stripe', options)

      expect(dry).toMatchObject(expected)
      expect(dry.missingEvents.map(({ key }) => key)).toEqual(['evt_new', 'evt_forgotten'])
      expect(run).toMatchObject(expected)
      expect(run.missingEvents).toEqual(dry.missingEvents)
      expect(await inbox.backfill('stripe', options)).toMatchObject({ known: 4, missing: 0 })
    })

    test('is in the audit with who asked for it, why, and what became of it; a dry run is not', async () => {
      const { inbox } = await openInbox(store)
      const options = { from: tells([told('evt_1')]), since: SINCE }

      await inbox.backfill('stripe', { ...options, dryRun: true, actor: 'ada' })
      await inbox.backfill('stripe', { ...options, actor: 'ada', reason: 'an outage' })

      expect(await inbox.admin.listAudit()).toMatchObject([
        {
          action: 'backfill',
          subject: { kind: 'source', id: 'stripe' },
          actor: 'ada',
          reason: 'an outage',
          outcome: { status: 'done', listed: 1, known: 0, missing: 1, failed: 0, isComplete: true },
        },
      ])
    })

    test('leaves what waits for a person, though its key is free', async () => {
      const { inbox, store: own } = await openInbox(store)
      await recordOne(own, anEventDraft({ key: 'evt_1', quarantine: 'outside the time window' }))
      const options = { from: tells([told('evt_1')]), since: SINCE }

      expect(await inbox.backfill('stripe', { ...options, dryRun: true })).toMatchObject({
        known: 1,
      })
      expect(await inbox.backfill('stripe', options)).toMatchObject({ known: 1, missing: 0 })
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

    test('says from when on the sender has a list, where that is later than what was asked for', async () => {
      const { inbox } = await openInbox(store)
      const from = { ...tells([told('evt_1')]), keptDays: 3 }
      const before = Date.now()

      const tooFar = await inbox.backfill('stripe', { from, since: SINCE })
      const near = await inbox.backfill('stripe', { from, since: new Date(before - 86_400_000) })
      const unknown = await inbox.backfill('stripe', { from: tells([]), since: SINCE })

      const age = Date.now() - (tooFar.keptSince?.getTime() ?? 0)
      expect(age).toBeGreaterThanOrEqual(3 * 86_400_000)
      expect(age).toBeLessThan(3 * 86_400_000 + (Date.now() - before) + 1)
      // What is listed was looked at all the same.
      expect(tooFar).toMatchObject({ listed: 1, isComplete: true })
      expect([near.keptSince, unknown.keptSince]).toEqual([undefined, undefined])
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

    test('that is stopped while it lists what is missing says why, and takes nothing in before what is older', async () => {
      const { inbox } = await openInbox(store)
      const from = away('1', [told('evt_1')], [told('evt_2')], [told('evt_3')])

      const stopped = await inbox.backfill('stripe', { from, since: SINCE })

      expect(stopped).toMatchObject({
        listed: 1,
        missing: 0,
        isInOrder: true,
        isComplete: false,
        stoppedBy: 'the API is away',
        cursor: undefined,
      })
      expect(await inbox.admin.countEvents()).toBe(0)
      from.isAway = false
      expect(await inbox.backfill('stripe', { from, since: SINCE })).toMatchObject({
        missing: 3,
        isInOrder: true,
        isComplete: true,
      })
    })

    test('that is stopped where nothing was missing goes on from there', async () => {
      const { inbox, deliver } = await openInbox(store)
      await deliver('evt_1')
      const from = away('1', [told('evt_1')], [told('evt_2')], [told('evt_3')])
      const stopped = await inbox.backfill('stripe', { from, since: SINCE })
      expect(stopped).toMatchObject({ known: 1, isComplete: false, cursor: '1' })
      from.isAway = false

      const { cursor = '' } = stopped
      const rest = await inbox.backfill('stripe', { from, since: SINCE, cursor })

      expect(rest).toMatchObject({ missing: 2, isComplete: true, cursor: undefined })
      expect(await inbox.admin.countEvents()).toBe(3)
    })

    test('takes in the oldest first, whatever the order of the list, so that a fifo lane is run in its order', async () => {
      const { newInbox, applied } = await openOrdered(store)
      const inbox = newInbox()
      const order = { mode: 'fifo', lane: laneOf } as const
      inbox.on('partner', '*', { order }, (event, { tx }) => apply(tx, event))
      // Newest first, as most senders list. `e3` was tried twice, and `e2` was sent in the second of `e3`.
      const pages = [
        [toldAt('e5', 5), toldAt('e3', 4), toldAt('e4', 3)],
        [toldAt('e3', 2), toldAt('e2', 2), toldAt('e1', 1)],
      ]

      const report = await inbox.backfill('partner', { from: tells(...pages), since: SINCE })

      expect(report).toMatchObject({ listed: 5, missing: 5, isInOrder: true, isComplete: true })
      const keys = ['e1', 'e2', 'e3', 'e4', 'e5']
      expect(report.missingEvents.map(({ key }) => key)).toEqual(keys)
      await inbox.start()
      await expect.poll(() => applied('K')).toEqual(keys)
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

    test('takes in nothing in which the source finds another key, and says which it finds', async () => {
      const { inbox } = await openInbox(store)
      const from = tells([
        { ...told('evt_1'), key: 'delivery_1' },
        { ...told('evt_2'), load: async () => ({ headers: {}, body: Buffer.from('{}') }) },
        told('evt_3'),
      ])

      for (const dryRun of [true, false]) {
        const report = await inbox.backfill('stripe', { from, since: SINCE, dryRun })
        expect(report).toMatchObject({ listed: 3, missing: 1, failed: 2 })
        expect(report.failedEvents.map(({ key, reason }) => [key, reason])).toEqual([
          ['evt_2', 'the source finds another key in it: none'],
          ['delivery_1', 'the source finds another key in it: "evt_1"'],
        ])
      }
      expect(await inbox.admin.countEvents()).toBe(1)
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
