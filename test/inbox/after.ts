import { describe, expect, test } from 'vitest'
import { apply, AT_ONCE, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const HOUR_MS = 3_600_000
const AFTER = {
  mode: 'after',
  lane: laneOf,
  requires: 'user.created',
  waitMs: HOUR_MS,
  onMissing: 'run',
} as const

/** What `after` promises, on every store. */
export function afterContract(store: StoreUnderTest): void {
  describe(`${store.name}: after`, () => {
    test('an event waits until what it requires is done, and then for no other', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', 'user.created', { retry: AT_ONCE }, async (event, { tx, attempt }) => {
        if (attempt < 3) throw new Error('not yet')
        await apply(tx, event)
      })
      inbox.on('partner', 'user.updated', { order: AFTER }, (event, { tx }) => apply(tx, event))
      await inbox.start()
      const [early = ''] = await deliver({ id: 'u1', lane: 'K', type: 'user.updated' })
      await expect
        .poll(async () => (await find(early)).blockedBy?.reason)
        .toMatch(/^waiting for user\.created until \d{4}-/)

      await deliver(
        { id: 'c1', lane: 'K', type: 'user.created' },
        { id: 'other', lane: 'L', type: 'user.created' },
      )

      await expect.poll(() => applied('K')).toEqual(['c1', 'u1'])
      await deliver({ id: 'u2', lane: 'K', type: 'user.updated' })
      await expect.poll(() => applied('K')).toEqual(['c1', 'u1', 'u2'])
    })

    test('a step handler of what is required frees them too', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      inbox.steps('partner', 'user.created', async (event, step) => {
        await step.tx('apply', (tx) => apply(tx, event))
      })
      inbox.steps('partner', 'user.updated', { order: AFTER }, async (event, step) => {
        await step.tx('apply', (tx) => apply(tx, event))
      })
      await inbox.start()

      await deliver(
        { id: 'u1', lane: 'K', type: 'user.updated' },
        { id: 'c1', lane: 'K', type: 'user.created' },
      )

      await expect.poll(() => applied('K')).toEqual(['c1', 'u1'])
    })

    test.each([
      ['run', 'done', ['u1']],
      ['dead', 'dead', []],
    ] as const)('without it in time, onMissing %s', async (onMissing, state, expected) => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      const order = { ...AFTER, waitMs: 0, onMissing }
      inbox.on('partner', 'user.updated', { order }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [id = ''] = await deliver({ id: 'u1', lane: 'K', type: 'user.updated' })

      await expect.poll(async () => (await find(id)).state).toBe(state)
      expect(await applied('K')).toEqual(expected)
      if (state === 'dead')
        expect((await find(id)).reason).toBe('no user.created was done in its lane in time')
    })
  })
}
