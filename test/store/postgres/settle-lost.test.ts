import { describe, expect, test } from 'vitest'
import { until } from '../../support/faults/until.ts'
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

    let isWritten = false
    // It waits for a second. On a busy machine the backend may take longer to let go, and then nothing is written.
    while (!isWritten) {
      const group = await claim(store)
      const settling = store.queue.settleLost(retryIn(60_000)(group.events[0]!))
      let hasAnswered = false
      void settling.finally(() => (hasAnswered = true))
      await until('it waits', async () => hasAnswered || (await query(WAITING)).length === 1)
      await group.abandon()
      isWritten = await settling
    }

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
