import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import { apply, AT_ONCE, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const HOUR_MS = 3_600_000
const ORDER = { mode: 'sequence', lane: laneOf, gapMs: HOUR_MS, onGap: 'run' } as const

/** What a sequence promises, on every store. */
export function sequenceContract(store: StoreUnderTest): void {
  describe(`${store.name}: sequence`, () => {
    test('events are applied by their numbers, however they arrive', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', { order: ORDER, retry: AT_ONCE }, async (event, context) => {
        if (event.payload.n === 2 && context.attempt === 1) throw new Error('not yet')
        await apply(context.tx, event)
      })
      await inbox.start()

      for (const n of [3, 5, 1, 2, 4]) await deliver({ id: `e${n}`, lane: 'K', n })

      await expect.poll(() => applied('K')).toEqual(['e1', 'e2', 'e3', 'e4', 'e5'])
    })

    test('O07: an event behind a gap names the number that is missing, and until when', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', { order: ORDER }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [, e3 = ''] = await deliver(
        { id: 'e1', lane: 'K', n: 1 },
        { id: 'e3', lane: 'K', n: 3 },
      )

      await expect.poll(() => applied('K')).toEqual(['e1'])
      await expect
        .poll(async () => (await find(e3)).blockedBy)
        .toEqual({
          eventId: undefined,
          state: undefined,
          until: expect.any(Date),
          reason: expect.stringMatching(/^waiting for number 2 until \d{4}-/),
        })
    })

    test('when a gap has lasted for its time, the lane goes on behind it', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      const order = { ...ORDER, gapMs: 0 }
      inbox.on('partner', '*', { order }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      await deliver({ id: 'e4', lane: 'K', n: 4 }, { id: 'e5', lane: 'K', n: 5 })
      await expect.poll(() => applied('K')).toEqual(['e4', 'e5'])
      await deliver({ id: 'e2', lane: 'K', n: 2 })

      await expect.poll(() => applied('K')).toEqual(['e4', 'e5', 'e2'])
    })

    test('or the event behind it is dead, and says what was missing', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      const dead: string[] = []
      inbox.events.on('event.dead', ({ eventId }) => void dead.push(eventId))
      const order = { ...ORDER, gapMs: 0, onGap: 'dead' } as const
      inbox.on('partner', '*', { order }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [e3 = ''] = await deliver({ id: 'e3', lane: 'K', n: 3 })

      await expect.poll(() => dead).toEqual([e3])
      const { state, reason, failures } = await find(e3)
      expect({ state, reason }).toEqual({
        state: 'dead',
        reason: 'numbers 1 to 2 of its lane did not come in time',
      })
      expect(failures.map((each) => each.reason)).toEqual(['order'])
      await deliver({ id: 'e1', lane: 'K', n: 1 })
      await expect.poll(() => applied('K')).toEqual(['e1'])
    })

    test('an event that died behind a gap runs when a person has retried it, and the lane goes on', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      const order = { ...ORDER, gapMs: 0, onGap: 'dead' } as const
      inbox.on('partner', '*', { order }, async (event, { tx }) => {
        if (event.payload.n === 2) throw permanent('broken')
        await apply(tx, event)
      })
      await inbox.start()
      const ids = await deliver(
        { id: 'e1', lane: 'K', n: 1 },
        { id: 'e2', lane: 'K', n: 2 },
        { id: 'e3', lane: 'K', n: 3 },
        { id: 'e4', lane: 'K', n: 4 },
      )
      const [, e2 = '', e3 = '', e4 = ''] = ids
      for (const id of [e2, e3, e4])
        await expect.poll(async () => (await find(id)).state).toBe('dead')

      await inbox.admin.discard(e2, { reason: 'it is broken' })
      await inbox.admin.retry(e3)
      await expect.poll(() => applied('K')).toEqual(['e1', 'e3'])
      await inbox.admin.retry(e4)

      await expect.poll(() => applied('K')).toEqual(['e1', 'e3', 'e4'])
    })

    test('the number of a dead event is missing, until the event is retried', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      let isBroken = true
      const inbox = newInbox()
      inbox.on('partner', '*', { order: ORDER }, async (event, { tx }) => {
        if (event.payload.n === 1 && isBroken) throw permanent('broken')
        await apply(tx, event)
      })
      await inbox.start()
      const [e1 = '', e2 = ''] = await deliver(
        { id: 'e1', lane: 'K', n: 1 },
        { id: 'e2', lane: 'K', n: 2 },
      )
      await expect.poll(async () => (await find(e1)).state).toBe('dead')
      await expect.poll(async () => (await find(e2)).state).toBe('waiting')
      isBroken = false

      await inbox.admin.retry(e1)

      await expect.poll(() => applied('K')).toEqual(['e1', 'e2'])
    })

    test('the handler may give the number, and say where a lane begins', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      const order = {
        ...ORDER,
        first: 0,
        sequence: (event: { payload: { id: string } }) => Number(event.payload.id) - 100,
      }
      inbox.on('partner', '*', { order }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      await deliver({ id: '101', lane: 'K' }, { id: '100', lane: 'K' })

      await expect.poll(() => applied('K')).toEqual(['100', '101'])
    })

    test('an event without a number is dead at once', async () => {
      const { newInbox, deliver, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', { order: ORDER }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [id = ''] = await deliver({ id: 'e1', lane: 'K' })

      await expect.poll(async () => (await find(id)).state).toBe('dead')
      expect((await find(id)).reason).toContain('give order.sequence')
    })
  })
}
