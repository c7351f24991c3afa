import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, dead, recordOne, retryIn } from '../../support/store-steps.ts'

const WAITING = `
  select pid from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`

describe.skipIf(hasNoPostgres)('settling what was lost on PostgreSQL', () => {
  test('a backend that still holds the event is waited for', async () => {
    const { store, query } = await openPostgres()
    const { eventId } = await recordOne(store, anEventDraft())
    const group = await claim(store)

    const isWritten = store.queue.settleLost(retryIn(60_000)(group.events[0]!))
    await expect.poll(() => query(WAITING), { interval: 20 }).toHaveLength(1)
    await group.abandon()

    expect(await isWritten).toBe(true)
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'ready', attempts: 1 })
  })

  test('an event that another transaction goes on holding is left alone, and that is said', async () => {
    const { store } = await openPostgres()
    const { eventId } = await recordOne(store, anEventDraft())
    const group = await claim(store)

    expect(await store.queue.settleLost(dead(group.events[0]!))).toBe(false)

    await group.abandon()
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'ready', failures: [] })
    expect(await store.queue.settleLost(dead(group.events[0]!))).toBe(true)
    expect(await store.queue.settleLost(dead(group.events[0]!))).toBe(false)
  })
})
