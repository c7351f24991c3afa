import { describe, expect, test } from 'vitest'
import { apply, AT_ONCE, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const LATEST = { order: { mode: 'latest', lane: laneOf }, retry: AT_ONCE } as const

/** What `latest` promises, on every store. */
export function latestContract(store: StoreUnderTest): void {
  describe(`${store.name}: latest`, () => {
    test('an event that is older than what was applied is skipped', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', LATEST, (event, { tx }) => apply(tx, event))
      await inbox.start()
      await deliver({ id: 'v9', lane: 'K', n: 9 })
      await expect.poll(() => applied('K')).toEqual(['v9'])

      const [old = ''] = await deliver({ id: 'v8', lane: 'K', n: 8 })

      await expect.poll(async () => (await find(old)).state).toBe('skipped')
      expect((await find(old)).reason).toBe(
        'stale: its version 8 is older than 9, which was applied',
      )
      await deliver({ id: 'also-v9', lane: 'K', n: 9 })
      await expect.poll(() => applied('K')).toEqual(['v9', 'also-v9'])
    })

    test('what failed lets others go first, and is applied if it is still the latest', async () => {
      const { newInbox, deliver, applied, find, store: own } = await openOrdered(store)
      const inbox = newInbox()
      const retry = { firstMs: 3_600_000 }
      let isBroken = true
      inbox.on('partner', '*', { ...LATEST, retry }, async (event, { tx }) => {
        if (event.payload.n === 7 && isBroken) throw new Error('not yet')
        await apply(tx, event)
      })
      await inbox.start()
      const [v7 = ''] = await deliver({ id: 'v7', lane: 'K', n: 7 })
      await expect.poll(async () => (await find(v7)).attempts).toBe(1)
      isBroken = false

      await deliver({ id: 'v6', lane: 'K', n: 6 })

      await expect.poll(() => applied('K')).toEqual(['v6'])
      await expect.poll(async () => (await find(v7)).state).toBe('ready')
      await own.events.nudge(v7)
      await expect.poll(() => applied('K')).toEqual(['v6', 'v7'])
    })

    test('step handlers skip what is older as well', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.steps('partner', '*', LATEST, async (event, step) => {
        await step.tx('apply', (tx) => apply(tx, event))
      })
      await inbox.start()
      await deliver({ id: 'v9', lane: 'K', n: 9 })
      await expect.poll(() => applied('K')).toEqual(['v9'])

      const [old = ''] = await deliver({ id: 'v8', lane: 'K', n: 8 })

      await expect.poll(async () => (await find(old)).state).toBe('skipped')
      expect(await applied('K')).toEqual(['v9'])
    })

    test('the handler may give the version, a number or a time', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      const version = (event: { payload: { id: string } }) => new Date(event.payload.id)
      inbox.on('partner', '*', { order: { ...LATEST.order, version } }, (event, { tx }) =>
        apply(tx, event),
      )
      await inbox.start()
      await deliver({ id: '2026-02-01T00:00:00Z', lane: 'K' })
      await expect.poll(() => applied('K')).toEqual(['2026-02-01T00:00:00Z'])

      const [older = '', none = ''] = await deliver(
        { id: '2025-02-01T00:00:00Z', lane: 'K' },
        { id: 'no time', lane: 'K' },
      )

      await expect.poll(async () => (await find(older)).state).toBe('skipped')
      await expect.poll(async () => (await find(none)).state).toBe('dead')
    })
  })
}
