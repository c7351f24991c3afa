import assert from 'node:assert/strict'
import { assertMatches } from '../check.ts'
import { casesOf } from '../store-case.ts'
import type { AnyStore, OpenedStore, OpenStore, StoreCase } from '../store-case.ts'
import type { EventId } from '../../../model/event.ts'
import { aClaim, anEventDraft } from '../steps/builders.ts'
import { leaseOne } from '../steps/lease-steps.ts'
import { act, claim, dead, done, recordOne, runOne } from '../steps/store-steps.ts'

export const actionRaceCases: readonly StoreCase[] = [
  ...casesOf('actions that race', [
    {
      name: 'forgetting a dead event beside its redelivery leaves one run',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        for (let round = 0; round < ROUNDS; round += 1) {
          const key = `evt_${round}`
          const eventId = await reachDead(store, key)

          const [forgotten, redelivered] = await Promise.all([
            act(store, 'forget', eventId),
            recordOne(other, anEventDraft({ key })),
          ])

          // Before or after, and never a delivery that is swallowed: either it revives the event, or it is a new one.
          assert.match(
            `${forgotten.status} ${redelivered.status}`,
            /^(?:refused revived|done accepted)$/,
          )
          assert.equal(await runAll(store, key), 1, key)
        }
      },
    },

    {
      name: 'forgetting a dead event beside a retry leaves one run',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        for (let round = 0; round < ROUNDS; round += 1) {
          const key = `evt_${round}`
          const eventId = await reachDead(store, key)

          const acted = await Promise.all([
            act(store, 'forget', eventId),
            act(other, 'retry', eventId),
          ])

          assert.deepEqual(acted.map(({ status }) => status).sort(), ['done', 'refused'])
          await recordOne(other, anEventDraft({ key }))
          assert.equal(await runAll(store, key), 1, key)
        }
      },
    },

    {
      name: 'replaying a forgotten event beside its redelivery leaves one run',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        for (let round = 0; round < ROUNDS; round += 1) {
          const key = `evt_${round}`
          const eventId = await reachDead(store, key)
          await act(store, 'forget', eventId)

          const [replayed, redelivered] = await Promise.all([
            act(store, 'replay', eventId),
            recordOne(other, anEventDraft({ key })),
          ])

          assert.match(
            `${replayed.status} ${redelivered.status}`,
            /^(?:refused accepted|done conflict)$/,
          )
          assert.equal(await runAll(store, key), 1, key)
        }
      },
    },

    {
      name: 'discarding a ready event beside a claim ends it or leaves it to the worker',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        for (let round = 0; round < ROUNDS; round += 1) {
          const key = `evt_${round}`
          const { eventId } = await recordOne(store, anEventDraft({ key }))

          const [discarded, ran] = await Promise.all([
            act(store, 'discard', eventId),
            runAll(other, key),
          ])

          const { state } = (await store.operators.findEvent(eventId)) ?? {}
          if (discarded.status === 'done') assert.deepEqual([state, ran], ['discarded', 0])
          else assert.deepEqual([state, ran + (await runAll(store, key))], ['done', 1])
        }
      },
    },

    {
      name: 'a leased event is left to its worker by every action',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        await recordOne(store, anEventDraft())
        const leased = await leaseOne(store)
        const { eventId } = leased

        const forgotten = await act(other, 'forget', eventId)
        const discarded = await act(other, 'discard', eventId)
        const redelivered = await recordOne(other, anEventDraft())

        assertMatches(
          [forgotten, discarded],
          [{ code: 'EVENT_RUNNING' }, { code: 'EVENT_RUNNING' }],
        )
        assert.deepEqual(redelivered, { status: 'duplicate', eventId })
        assert.deepEqual(
          await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }]),
          [true],
        )
      },
    },

    {
      name: 'Y03: an event that a group holds is running to every action, and its handler is not waited for',
      needs: 'many writers',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        const { eventId } = await recordOne(store, anEventDraft())
        const group = await claim(store)

        for (const action of ['forget', 'discard', 'replay', 'retry', 'release'] as const)
          assertMatches(await act(other, action, eventId), { code: 'EVENT_RUNNING' })

        await group.settle(group.events.map(done))
        assert.deepEqual(await group.commit(), { status: 'committed' })
      },
    },

    {
      name: 'two replays at once are one run, and the other is refused',
      run: async (open) => {
        const { store, other } = await openTwo(open)
        const { eventId } = await recordOne(store, anEventDraft())
        await runOne(store, done)

        const acted = await Promise.all(
          Array.from({ length: 10 }, (_, n) => act(n % 2 === 0 ? store : other, 'replay', eventId)),
        )

        assert.deepEqual(
          acted.filter(({ status }) => status === 'done'),
          [{ status: 'done', run: 1, state: 'ready' }],
        )
        assert.equal((await store.operators.listRuns(eventId)).length, 1)
        assert.equal((await store.operators.listAudit({ limit: 20 })).length, 1)
      },
    },
  ]),
]

/** Enough for both orders to come up; what is asserted holds in each of them. */
const ROUNDS = 30

async function openTwo(open: OpenStore): Promise<OpenedStore & { readonly other: AnyStore }> {
  const opened = await open()
  return { ...opened, other: await opened.second() }
}

async function reachDead(store: AnyStore, key: string): Promise<EventId> {
  await recordOne(store, anEventDraft({ key }))
  return runOne(store, dead)
}

/** Runs everything that is due, and says how often the key ran. */
async function runAll(store: AnyStore, key: string): Promise<number> {
  let ran = 0
  for (;;) {
    const group = await store.queue.claim(aClaim({ limit: 1 }))
    if (group === undefined) return ran
    const [event] = group.events
    assert(event)
    await group.settle([done(event)])
    assert.deepEqual(await group.commit(), { status: 'committed' })
    if (event.key === key) ran += 1
  }
}
