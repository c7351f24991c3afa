import { describe, expect, test } from 'vitest'
import { apply, AT_ONCE, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { Sent } from '../support/ordered-inbox.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const HOUR_MS = 3_600_000
const FIFO = { mode: 'fifo', lane: laneOf } as const

/** What an order that is said for a source promises, on every store. */
export function sourceOrderContract(store: StoreUnderTest): void {
  describe(`${store.name}: an order of a source`, () => {
    test('is that of each handler, plain and with steps', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox({}, { order: { partner: FIFO } })
      const applyAtLast = failTwice('e1')
      inbox.on('partner', 'plain', { retry: AT_ONCE }, (event, { tx }) => applyAtLast(event, tx))
      inbox.steps('partner', 'steps', { retry: AT_ONCE }, async (event, step) => {
        await step.tx('apply', (tx) => applyAtLast(event, tx))
      })
      await inbox.start()

      await deliver(
        { id: 'e1', lane: 'K', type: 'plain' },
        { id: 'e2', lane: 'K', type: 'steps' },
        { id: 'e3', lane: 'K', type: 'plain' },
      )

      await expect.poll(() => applied('K')).toEqual(['e1', 'e2', 'e3'])
    })

    test('gives way to that of a handler, and to none', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox({}, { order: { partner: FIFO } })
      const refuse = () => {
        throw new Error('never')
      }
      inbox.on('partner', 'fails', { retry: { attemptsMax: 2, firstMs: HOUR_MS } }, refuse)
      const latest = { mode: 'latest', lane: laneOf } as const
      inbox.on('partner', 'latest', { order: latest }, (event, { tx }) => apply(tx, event))
      const none = { mode: 'none' } as const
      inbox.on('partner', 'none', { order: none }, (event, { tx }) => apply(tx, event))
      inbox.on('partner', 'waits', (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [failed = '', waiting = ''] = await deliver(
        { id: 'e1', lane: 'K', type: 'fails' },
        { id: 'e2', lane: 'K', type: 'waits' },
      )
      await expect.poll(async () => (await find(failed)).failures.length).toBe(1)
      await deliver({ id: 'e3', lane: 'K', type: 'latest', n: 7 })
      await expect.poll(() => applied('K')).toEqual(['e3'])
      const [stale = ''] = await deliver({ id: 'e4', lane: 'K', type: 'latest', n: 6 })
      await deliver({ id: 'e5', lane: 'K', type: 'none' })

      await expect.poll(() => applied('K')).toEqual(['e3', 'e5'])
      await expect.poll(async () => (await find(stale)).state).toBe('skipped')
      expect((await find(waiting)).state).toBe('waiting')
    })

    test('of two handlers of one event the one with an order of its own decides', async () => {
      const { newInbox, deliver, find, applied } = await openOrdered(store)
      const inbox = newInbox({}, { order: { partner: FIFO } })
      const order = { mode: 'latest', lane: laneOf } as const
      inbox.on('partner', '*', { name: 'all' }, () => undefined)
      inbox.on('partner', 'own', { order }, (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [newer = ''] = await deliver({ id: 'e2', lane: 'K', type: 'own', n: 2 })
      await expect.poll(async () => (await find(newer)).state).toBe('done')
      const [older = ''] = await deliver({ id: 'e1', lane: 'K', type: 'own', n: 1 })

      await expect.poll(async () => (await find(older)).state).toBe('skipped')
      expect(await applied('K')).toEqual(['e2'])
    })

    test('an order of after: what is required does not wait for its own kind', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const after = { mode: 'after', lane: laneOf, requires: 'made', waitMs: HOUR_MS } as const
      const inbox = newInbox({}, { order: { partner: { ...after, onMissing: 'dead' } } })
      inbox.on('partner', '*', (event, { tx }) => apply(tx, event))
      await inbox.start()

      const [early = ''] = await deliver({ id: 'e1', lane: 'K', type: 'changed' })
      await expect.poll(async () => (await find(early)).state).toBe('waiting')
      await deliver({ id: 'e2', lane: 'K', type: 'made' })

      await expect.poll(() => applied('K')).toEqual(['e2', 'e1'])
    })
  })
}

/** Applies an event; the one with that id at its third attempt. */
function failTwice(id: string): (event: AppliedEvent, tx: QueryTx) => Promise<void> {
  let tries = 0
  return async (event, tx) => {
    if (event.payload.id === id && (tries += 1) < 3) throw new Error('not yet')
    await apply(tx, event)
  }
}

type AppliedEvent = Parameters<typeof apply>[1] & { readonly payload: Sent }
