import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import type { EventId } from '../../../model/event.ts'
import { aClaim, anEventDraft } from '../steps/builders.ts'
import { leaseOne } from '../steps/lease-steps.ts'
import { sendFrom, sent, settleMessage, unknownMessage } from '../steps/outbox-steps.ts'
import { limitsIn, pruneRows } from '../steps/retention-steps.ts'
import {
  act,
  dead,
  done,
  recordOne,
  retryIn,
  runOne,
  skipped,
  unhandled,
} from '../steps/store-steps.ts'

export const retentionCases: readonly StoreCase[] = [
  ...casesOf('retention', [
    {
      name: 'P02: a payload goes after its days, and a redelivery is still a duplicate',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, done)
        await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 1 }])

        assertMatches(await pruneRows(store, limitsIn(29)), { events: 0, keys: 0 })
        assertMatches(await pruneRows(store, limitsIn(31)), {
          events: 1,
          deliveries: 1,
          keys: 0,
          outcomes: 0,
        })

        assert.deepEqual(await recordOne(store, anEventDraft()), { status: 'duplicate', eventId })
        assertMatches(await store.events.findOutcome(eventId), {
          outcome: { state: 'done', result: '{"ok":true}' },
        })
        assertMatches(await store.operators.findEvent(eventId), {
          id: eventId,
          state: 'done',
          payload: 'pruned',
        })
        assert.equal(await store.operators.countEvents(), 0)
      },
    },

    {
      name: 'P03: a redelivery after the key is gone is an event of its own',
      run: async (open) => {
        const { store } = await open()
        const policy = { sameBytes: 'duplicate' } as const
        const { eventId } = await recordOne(store, anEventDraft(policy))
        await runOne(store, done)

        assertMatches(await pruneRows(store, limitsIn(44)), { keys: 0 })
        assertMatches(await pruneRows(store, limitsIn(46)), { keys: 2, outcomes: 1 })

        const again = await recordOne(store, anEventDraft(policy))
        assert.equal(again.status, 'accepted')
        assert.equal(await store.operators.findEvent(eventId), undefined)
      },
    },

    {
      name: 'a key that is kept for a shorter time than the payload leaves the event as it ended',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, done)

        const limits = limitsIn(10, { keysDays: 8 })
        assertMatches(await pruneRows(store, limits), { keys: 1, outcomes: 0, events: 0 })

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'done',
          payload: 'kept',
        })
      },
    },

    {
      name: 'nothing goes that is kept for ever',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft({ key: 'a' }))
        await runOne(store, done)
        await recordOne(store, anEventDraft({ key: 'b' }))
        await runOne(store, skipped)

        const forever = {
          doneDays: 'forever',
          skippedDays: 'forever',
          keysDays: 'forever',
        } as const
        assertMatches(await pruneRows(store, limitsIn(30_000, forever)), {
          events: 0,
          keys: 0,
          outcomes: 0,
        })
      },
    },

    {
      name: 'P04: only what has ended goes, whatever its age',
      run: async (open) => {
        const { store } = await open()
        const kept = await recordInEveryState(store)

        const removed = await pruneRows(store, limitsIn(10_000))

        assertMatches(removed, { events: 2, keys: 2, outcomes: 2, discarded: 0 })
        for (const [name, draft] of Object.entries(kept.drafts)) {
          assertMatches(
            await recordOne(store, draft),
            {
              status: name === 'dead' ? 'revived' : 'duplicate',
            },
            name,
          )
        }
        for (const [name, eventId] of Object.entries(kept.ids))
          assertMatches(await store.operators.findEvent(eventId), { payload: 'kept' }, name)
      },
    },

    {
      name: 'P04: an event whose message is unsent or unknown is kept with its key',
      run: async (open) => {
        const { store } = await open()
        const unsent = await sendFrom(store, 'unsent')
        const inDoubt = await sendFrom(store, 'in-doubt')
        await settleMessage(store, inDoubt.key, unknownMessage)
        const given = await sendFrom(store, 'sent')
        await settleMessage(store, given.key, sent)

        assertMatches(await pruneRows(store, limitsIn(10_000)), {
          events: 1,
          keys: 1,
          messages: 1,
        })

        for (const { eventId } of [unsent, inDoubt])
          assertMatches(await store.operators.findEvent(eventId), { payload: 'kept' })
        assert.equal(await store.operators.findEvent(given.eventId), undefined)
      },
    },

    {
      name: 'attempts, steps and deliveries may go before the payload',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, retryIn(0))
        await store.events.countDeliveries([{ eventId, outcome: 'duplicate', count: 3 }])
        await runOne(store, done, { kind: 'again' })

        const short = { attemptsDays: 5, stepsDays: 5, deliveriesDays: 7 }
        assertMatches(await pruneRows(store, limitsIn(6, short)), {
          attempts: 1,
          deliveries: 0,
        })
        assertMatches(await pruneRows(store, limitsIn(8, short)), { deliveries: 1, events: 0 })

        assertMatches(await store.operators.findEvent(eventId), {
          state: 'done',
          failures: [],
          payload: 'kept',
        })
      },
    },

    {
      name: 'a dead event is kept for ever, or discarded after its days',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, dead)

        assertMatches(await pruneRows(store, limitsIn(10_000)), { discarded: 0, events: 0 })
        assertMatches(await pruneRows(store, limitsIn(20, { deadDays: 14 })), {
          discarded: 1,
          events: 0,
        })

        assertMatches(await store.operators.findEvent(eventId), { state: 'discarded' })
        assertMatches(await act(store, 'retry', eventId), { status: 'refused' })
        assert.deepEqual(await recordOne(store, anEventDraft()), { status: 'duplicate', eventId })
        assertMatches(await pruneRows(store, limitsIn(31, { deadDays: 14 })), { events: 1 })
      },
    },

    {
      name: 'what operators did goes after its own time, and the runs they asked for with the payload',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, done)
        await act(store, 'replay', eventId)
        await runOne(store, done)

        assertMatches(await pruneRows(store, limitsIn(29)), { runs: 0, audit: 0 })
        assertMatches(await pruneRows(store, limitsIn(40)), { events: 1, runs: 1, audit: 0 })
        assertMatches(await pruneRows(store, limitsIn(400, { auditDays: 'forever' })), {
          audit: 0,
        })
        assertMatches(await pruneRows(store, limitsIn(366)), { audit: 1 })
        assert.deepEqual(await store.operators.listAudit({ limit: 10 }), [])
      },
    },

    {
      name: 'a request goes with the last of its events',
      run: async (open) => {
        const { store } = await open()
        const request = Buffer.from('[{"n":1},{"n":2}]')
        const drafts = [1, 2].map((n) =>
          anEventDraft({ key: `part_${n}`, body: `{"n":${n}}`, request }),
        )
        const [, second] = await store.events.record(drafts, { deadlineMs: 60_000 })
        await runOne(store, done)
        assert(second)

        assertMatches(await pruneRows(store, limitsIn(31)), { events: 1, requests: 0 })
        const kept = await store.operators.findRequest(second.eventId)
        assert.deepEqual(Buffer.from(kept ?? []), request)
        await runOne(store, done)
        assertMatches(await pruneRows(store, limitsIn(31)), { events: 1, requests: 1 })
      },
    },

    {
      name: 'P01: when keys go, no process may answer from its memory of them',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        await recordOne(store, anEventDraft())
        await runOne(store, done)
        const before = await other.events.beat(undefined)

        await pruneRows(store, limitsIn(31))
        assert.equal((await other.events.beat(before.now)).epoch, before.epoch)
        await pruneRows(store, limitsIn(46))

        assert.notEqual((await other.events.beat(before.now)).epoch, before.epoch)
      },
    },

    {
      name: 'P05: a run is taken up by another process, and two at once remove everything once',
      run: async (open) => {
        const { store, second } = await open()
        const other = await second()
        const drafts = Array.from({ length: 450 }, (_, n) => anEventDraft({ key: `evt_${n}` }))
        await store.events.record(drafts, { deadlineMs: 60_000 })
        for (;;) {
          const group = await store.queue.claim(aClaim({ limit: 1_000 }))
          if (group === undefined) break
          await group.settle(group.events.map(done))
          await group.commit()
        }

        const first = await store.retention.prune('payloads', limitsIn(46), undefined)
        const counts = await Promise.all([
          pruneRows(other, limitsIn(46)),
          pruneRows(store, limitsIn(46)),
        ])
        const rest = await pruneRows(other, limitsIn(46))

        const all = [first.removed, ...counts, rest]
        assert.equal(
          all.reduce((sum, { events = 0 }) => sum + events, 0),
          450,
        )
        assert.equal(
          all.reduce((sum, { keys = 0 }) => sum + keys, 0),
          450,
        )
        assert.equal(await store.operators.countEvents(), 0)
      },
    },
  ]),
]

/** One event in each state, and two that have ended. */
async function recordInEveryState(store: AnyStore) {
  const ids: Record<string, EventId> = {}
  const drafts: Record<string, ReturnType<typeof anEventDraft>> = {}
  const record = async (name: string, draft = anEventDraft({ key: name })) => {
    drafts[name] = draft
    ids[name] = (await recordOne(store, draft)).eventId
  }
  for (const [name, becomes] of Object.entries({ done, skipped })) {
    await recordOne(store, anEventDraft({ key: name }))
    await runOne(store, becomes)
  }
  await record('dead')
  await runOne(store, dead)
  await record('unhandled')
  await runOne(store, unhandled)
  await record('retry')
  await runOne(store, retryIn(3_600_000))
  await record('conflict', anEventDraft({ key: 'retry', body: '{"amount":2}' }))
  await record('quarantined', anEventDraft({ key: undefined, body: '{"amount":3}' }))
  await record('leased')
  await leaseOne(store)
  await record('ready', anEventDraft({ key: 'ready', type: 'other' }))
  return { ids, drafts }
}
