import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { EventId } from '../../../src/model/event.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { act, claim, dead, done, recordOne, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { OpenedStore, QueryTx, StoreUnderTest } from '../../support/store-under-test.ts'

/** Enough for both orders to come up; what is asserted holds in each of them. */
const ROUNDS = 30

/** What an operator does at the same moment as a sender, a worker or another operator: one effect each time. */
export function actionRacesContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: actions that race`, () => {
    test('forgetting a dead event beside its redelivery leaves one run', async () => {
      const { store, other } = await openTwo(underTest)
      for (let round = 0; round < ROUNDS; round += 1) {
        const key = `evt_${round}`
        const eventId = await reachDead(store, key)

        const [forgotten, redelivered] = await Promise.all([
          act(store, 'forget', eventId),
          recordOne(other, anEventDraft({ key })),
        ])

        // Before or after, and never a delivery that is swallowed: either it revives the event, or it is a new one.
        expect(`${forgotten.status} ${redelivered.status}`).toMatch(
          /^(?:refused revived|done accepted)$/,
        )
        expect(await runAll(store, key), key).toBe(1)
      }
    })

    test('forgetting a dead event beside a retry leaves one run', async () => {
      const { store, other } = await openTwo(underTest)
      for (let round = 0; round < ROUNDS; round += 1) {
        const key = `evt_${round}`
        const eventId = await reachDead(store, key)

        const acted = await Promise.all([
          act(store, 'forget', eventId),
          act(other, 'retry', eventId),
        ])

        expect(acted.map(({ status }) => status).sort()).toEqual(['done', 'refused'])
        await recordOne(other, anEventDraft({ key }))
        expect(await runAll(store, key), key).toBe(1)
      }
    })

    test('discarding a ready event beside a claim ends it or leaves it to the worker', async () => {
      const { store, other } = await openTwo(underTest)
      for (let round = 0; round < ROUNDS; round += 1) {
        const key = `evt_${round}`
        const { eventId } = await recordOne(store, anEventDraft({ key }))

        const [discarded, ran] = await Promise.all([
          act(store, 'discard', eventId),
          runAll(other, key),
        ])

        const { state } = (await store.operators.findEvent(eventId)) ?? {}
        if (discarded.status === 'done') expect([state, ran]).toEqual(['discarded', 0])
        else expect([state, ran + (await runAll(store, key))]).toEqual(['done', 1])
      }
    })

    test('a leased event is left to its worker by every action', async () => {
      const { store, other } = await openTwo(underTest)
      await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      const { eventId } = leased

      const forgotten = await act(other, 'forget', eventId)
      const discarded = await act(other, 'discard', eventId)
      const redelivered = await recordOne(other, anEventDraft())

      expect([forgotten, discarded]).toMatchObject([
        { code: 'EVENT_RUNNING' },
        { code: 'EVENT_RUNNING' },
      ])
      expect(redelivered).toEqual({ status: 'duplicate', eventId })
      expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual(
        [true],
      )
    })

    test.runIf(underTest.capabilities.recordsBesideGroup)(
      'Y03: an event that a group holds is running to every action, and its handler is not waited for',
      async () => {
        const { store, other } = await openTwo(underTest)
        const { eventId } = await recordOne(store, anEventDraft())
        const group = await claim(store)

        for (const action of ['forget', 'discard', 'replay', 'retry', 'release'] as const)
          expect(await act(other, action, eventId)).toMatchObject({ code: 'EVENT_RUNNING' })

        await group.settle(group.events.map(done))
        expect(await group.commit()).toEqual({ status: 'committed' })
      },
    )

    test('two replays at once are one run, and the other is refused', async () => {
      const { store, other } = await openTwo(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)

      const acted = await Promise.all(
        Array.from({ length: 10 }, (_, n) => act(n % 2 === 0 ? store : other, 'replay', eventId)),
      )

      expect(acted.filter(({ status }) => status === 'done')).toEqual([
        { status: 'done', run: 1, state: 'ready' },
      ])
      expect(await store.operators.listRuns(eventId)).toHaveLength(1)
      expect(await store.operators.listAudit({ limit: 20 })).toHaveLength(1)
    })
  })
}

async function openTwo(
  underTest: StoreUnderTest,
): Promise<OpenedStore & { readonly other: Store<QueryTx> }> {
  const opened = await openStore(underTest)
  return { ...opened, other: await opened.second() }
}

async function reachDead(store: Store<QueryTx>, key: string): Promise<EventId> {
  await recordOne(store, anEventDraft({ key }))
  return runOne(store, dead)
}

/** Runs everything that is due, and says how often the key ran. */
async function runAll(store: Store<QueryTx>, key: string): Promise<number> {
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
