/**
 * A process sorts from positions below which it found nothing without a lane. What is there later must not be left there.
 */

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { decide, recordKeys, sort } from '../../support/lane-steps.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { OpenedPostgres } from '../../support/postgres/open-postgres.ts'

/** Longer ago than any transaction should take. */
const HIDE = `
  update hookonce.queue set run_at = run_at - interval '1 hour', parked = 'unhandled'`
const SHOW = `
  update hookonce.queue set parked = null where parked = 'unhandled'`

describe.skipIf(hasNoPostgres)('sorting that begins at positions', () => {
  test('finds what is below them where it finds nothing else', async () => {
    const { store, query } = await openWithHidden('K1')
    await query(SHOW)

    expect(await sort(store)).toEqual(['K1'])
  })

  test('finds it beside other events when the whole topic is looked at', async () => {
    const { store, query } = await openWithHidden('K1')
    await query(SHOW)
    await recordKeys(store, ['L1'])
    expect(await sort(store)).toEqual(['L1'])

    await recordKeys(store, ['L2'])
    vi.advanceTimersByTime(5_000)

    expect(await sort(store)).toEqual(['K1', 'L2'])
  })

  test('finds it before events are decided about that have waited for too long', async () => {
    const { store, query } = await openWithHidden('K1')
    await recordKeys(store, ['L1'])
    await sort(store)
    await query(
      `update hookonce.queue set parked = 'waiting', wait_until = now() where lane_id is not null`,
    )
    await query(SHOW)
    await recordKeys(store, ['M1'])

    expect(await store.lanes.listLate()).not.toEqual([])

    expect(await sort(store)).toEqual(['K1', 'M1'])
  })

  test('finds a topic that has appeared, whatever the number of it', async () => {
    const { store } = await openWithHidden('K1')
    for (const type of ['a', 'b', 'c', 'd']) {
      await recordKeys(store, [`${type}_1`], type)
      await recordKeys(store, ['K2'])

      const { decided } = await decide(store)

      expect(decided.map(({ event }) => event.type)).toContain(type)
      await sort(store)
    }
  })

  test('lists only topics of its source', async () => {
    const { store } = await openWithHidden('K1')
    await recordKeys(store, ['K2'])

    expect(await store.lanes.listUnsorted('github')).toEqual([])
    expect(await store.lanes.listUnsorted('stripe')).toMatchObject([{ type: 'invoice.paid' }])
  })
})

/** With one event that no sorter sees yet, and positions. The clock by which whole topics are looked at stands still. */
async function openWithHidden(key: string): Promise<OpenedPostgres> {
  const opened = await openPostgres()
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  await recordKeys(opened.store, [key])
  await opened.query(HIDE)
  await recordKeys(opened.store, ['A1'])
  expect(await sort(opened.store)).toEqual(['A1'])
  return opened
}
