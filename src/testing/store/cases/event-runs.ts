import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, StoreCase } from '../store-case.ts'
import { bytesOf } from '../../../model/stored-body.ts'
import { aClaim, anEventDraft } from '../steps/builders.ts'
import { leaseOne } from '../steps/lease-steps.ts'
import { act, claim, dead, done, recordOne, runOne } from '../steps/store-steps.ts'
import { OTHER_CONTENT, REACH } from '../steps/reach-state.ts'

export const eventRunCases: readonly StoreCase[] = [
  ...casesOf('replays and releases', [
    {
      name: 'Y01: a replay is the next run of the same event, with the same keys and body',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        const first = await claimOne(store)

        await act(store, 'replay', eventId, { reason: 'lost rows', actor: 'ada' })

        const group = await claim(store)
        assertMatches(group.events, [
          { eventId, run: 1, attempt: 1, keyHash: first.keyHash, isModified: false },
        ])
        assert.deepEqual(group.events[0]?.body, first.body)
        await group.settle(group.events.map(done))
        await group.commit()
        assertMatches(await act(store, 'replay', eventId), { run: 2 })
        assertMatches(await store.operators.listRuns(eventId), [
          { run: 1, reason: 'lost rows', actor: 'ada', freshKeys: false, body: undefined },
          { run: 2 },
        ])
      },
    },

    {
      name: 'Y08: a replay with a body of its own is marked, and the original is kept',
      run: async (open) => {
        const { store } = await open()
        const { eventId } = await recordOne(store, anEventDraft())
        const first = await claimOne(store)
        const body = new TextEncoder().encode('{"amount":3}')

        await act(store, 'replay', eventId, {
          replay: { freshKeys: true, body, onlyIfNotApplied: false },
        })

        const again = await claimOne(store)
        assertMatches(again, { run: 1, isModified: true })
        assert.equal(Buffer.from(bytesOf(again.body)).toString(), '{"amount":3}')
        assert.match(again.keyHash, /^[0-9a-f]{64}$/)
        assert.notEqual(again.keyHash, first.keyHash)
        const kept = await store.operators.findEvent(eventId)
        assert.deepEqual(Buffer.from(kept?.body ?? []), Buffer.from('{"amount":1}'))
        await act(store, 'replay', eventId)
        assertMatches(await claimOne(store), {
          run: 2,
          isModified: false,
          keyHash: first.keyHash,
        })
      },
    },

    {
      name: 'a replay that dies is retried as the run it was',
      run: async (open) => {
        const { store } = await open()
        const eventId = await REACH.done(store)
        const body = new TextEncoder().encode('{"amount":3}')
        await act(store, 'replay', eventId, {
          replay: { freshKeys: false, body, onlyIfNotApplied: false },
        })
        await runOne(store, dead)
        assertMatches(await act(store, 'replay', eventId), { code: 'EVENT_DEAD' })

        assert.deepEqual(await act(store, 'retry', eventId), {
          status: 'done',
          run: 1,
          state: 'ready',
        })

        assertMatches(await claimOne(store), { run: 1, isModified: true })
      },
    },

    {
      name: 'only what no run has applied is replayed, where that is asked for',
      run: async (open) => {
        const { store } = await open()
        const replay = { freshKeys: false, body: undefined, onlyIfNotApplied: true }
        const applied = await REACH.done(store, 'a')
        const notApplied = await REACH.skipped(store, 'b')

        assertMatches(await act(store, 'replay', applied, { replay }), {
          code: 'EVENT_APPLIED',
        })
        assertMatches(await act(store, 'replay', notApplied, { replay }), { run: 1 })
      },
    },

    {
      name: 'the steps of a replay begin anew, and those of the run before are kept',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        const first = await leaseOne(store)
        const place = { handler: 'h', position: 1, name: 'charge', result: '1' }
        await store.steps.writeCalls([{ lease: first.lease, ...place, change: 'done' }])
        const settlement = done(first)
        await store.steps.settle([{ lease: first.lease, settlement }])

        await act(store, 'replay', first.eventId)

        const again = await leaseOne(store)
        assertMatches(again, { run: 1, hasSteps: false })
        assert.deepEqual(await store.steps.list(first.eventId, 1), [])
        assertMatches(await store.steps.list(first.eventId, 0), [{ name: 'charge' }])
      },
    },

    {
      name: 'R21: a released conflict runs once, under keys that the first event does not have',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        const first = await claimOne(store)
        const other = anEventDraft({ body: OTHER_CONTENT })
        const { eventId } = await recordOne(store, other)

        await act(store, 'release', eventId, { reason: 'a correction' })

        const released = await claimOne(store)
        assertMatches(released, { eventId, run: 0 })
        assert.notEqual(released.keyHash, first.keyHash)
        assert.deepEqual(await recordOne(store, other), { status: 'duplicate', eventId })
        assert.deepEqual(await recordOne(store, anEventDraft()), {
          status: 'duplicate',
          eventId: first.eventId,
        })
        assertMatches(await act(store, 'release', eventId), { code: 'EVENT_DONE' })
      },
    },

    {
      name: 'R24: the same bytes under a new key run when they are released',
      run: async (open) => {
        const { store } = await open()
        const policy = { sameBytes: 'quarantine' } as const
        await recordOne(store, anEventDraft({ key: 'a', ...policy }))
        const first = await claimOne(store)
        const { eventId, status } = await recordOne(store, anEventDraft({ key: 'b', ...policy }))
        assert.equal(status, 'quarantined')

        await act(store, 'release', eventId)

        const released = await claimOne(store)
        assert.equal(released.eventId, eventId)
        assert.notEqual(released.keyHash, first.keyHash)
      },
    },

    {
      name: 'an event from outside the window takes its key when it is released',
      run: async (open) => {
        const { store } = await open()
        const late = anEventDraft({ quarantine: 'outside the time window' })
        const { eventId } = await recordOne(store, late)

        await act(store, 'release', eventId)

        assert.equal((await claimOne(store)).eventId, eventId)
        assert.deepEqual(await recordOne(store, anEventDraft()), { status: 'duplicate', eventId })
      },
    },

    {
      name: 'an event from outside the window that has arrived since is not released',
      run: async (open) => {
        const { store } = await open()
        const late = anEventDraft({ quarantine: 'outside the time window' })
        const { eventId } = await recordOne(store, late)
        await recordOne(store, anEventDraft())
        await runOne(store, done)

        assert.deepEqual(await act(store, 'release', eventId), {
          status: 'refused',
          code: 'EVENT_ARRIVED',
        })
        assertMatches(await act(store, 'discard', eventId), { status: 'done' })
      },
    },

    {
      name: 'a forgotten event that is replayed has its key again, and no redelivery runs beside it',
      run: async (open) => {
        const { store } = await open()
        const eventId = await REACH.done(store)
        await act(store, 'forget', eventId)

        assertMatches(await act(store, 'replay', eventId), { status: 'done', run: 1 })

        assertMatches(await recordOne(store, anEventDraft()), { status: 'conflict' })
        assertMatches(await claimOne(store), { eventId, run: 1 })
        assert.equal(await store.queue.claim(aClaim()), undefined)
      },
    },

    ...(['done', 'dead', 'skipped'] as const).map((state): StoreCase => ({
      name: `an event that was forgotten as ${state}, and has arrived since, is not replayed beside itself`,
      run: async (open) => {
        const { store } = await open()
        const eventId = await REACH[state](store)
        await act(store, 'forget', eventId)
        assertMatches(await recordOne(store, anEventDraft()), { status: 'accepted' })

        assert.deepEqual(await act(store, 'replay', eventId), {
          status: 'refused',
          code: 'EVENT_ARRIVED',
        })
        assert.notEqual((await claimOne(store)).eventId, eventId)
        assert.equal(await store.queue.claim(aClaim()), undefined)
      },
    })),

    {
      name: 'R21: a discarded conflict that is replayed runs under keys that the first event does not have',
      run: async (open) => {
        const { store } = await open()
        await recordOne(store, anEventDraft())
        const first = await claimOne(store)
        const { eventId } = await recordOne(store, anEventDraft({ body: OTHER_CONTENT }))
        await act(store, 'discard', eventId)

        assertMatches(await act(store, 'replay', eventId), { status: 'done', run: 1 })

        const replayed = await claimOne(store)
        assert.equal(replayed.eventId, eventId)
        assert.notEqual(replayed.keyHash, first.keyHash)
        assertMatches(await recordOne(store, anEventDraft()), {
          status: 'duplicate',
          eventId: first.eventId,
        })
      },
    },

    {
      name: 'an event from outside the window that was discarded, and has arrived since, is not replayed beside itself',
      run: async (open) => {
        const { store } = await open()
        const late = anEventDraft({ quarantine: 'outside the time window' })
        const { eventId } = await recordOne(store, late)
        await act(store, 'discard', eventId)
        await recordOne(store, anEventDraft())
        await runOne(store, done)

        assertMatches(await act(store, 'replay', eventId), { code: 'EVENT_ARRIVED' })
      },
    },

    {
      name: 'a request with too many events is not released, since it was not split',
      run: async (open) => {
        const { store } = await open()
        const whole = anEventDraft({ quarantine: 'too many events' })
        const { eventId } = await recordOne(store, whole)

        assertMatches(await act(store, 'release', eventId), { code: 'EVENT_NOT_SPLIT' })
        assertMatches(await act(store, 'discard', eventId), { state: 'discarded' })
      },
    },
  ]),
]

async function claimOne(store: AnyStore) {
  const group = await claim(store, { limit: 1 })
  const [event] = group.events
  assert(event)
  await group.settle([done(event)])
  assert.deepEqual(await group.commit(), { status: 'committed' })
  return event
}
