import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, nextDueInMs, recordOne } from '../../support/store-steps.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import type { Store } from '../../../src/store/contract/store.ts'

const TIME_AHEAD = `
  update hookonce.meta set value = (value::bigint + 3600000)::text where name = 'clock'`
const EVENTS_AHEAD = `
  update hookonce.queue set run_at = run_at + interval '1 hour'`

describe.skipIf(hasNoPostgres)('a clock that is set back on PostgreSQL', () => {
  // A group gives back at its COMMIT what it has not begun; then it is in the queue as it was.
  test('C10: what a group held at that time and gives back is due at the next look', async () => {
    const opened = await openPostgres()
    const store = opened.store as unknown as Store<QueryTx>
    for (const key of ['a', 'b']) await recordOne(store, anEventDraft({ key }))
    await store.keepClock({ always: true })
    const group = await claim(store, { limit: 10 })
    expect(group.events).toHaveLength(2)
    // As if the clock had been set back since: what was written before is an hour ahead.
    await group.lend().tx.query(EVENTS_AHEAD)
    await opened.query(TIME_AHEAD)

    expect((await store.keepClock({ always: false })).wentBackMs).toBeGreaterThan(0)
    await group.settle([])
    await group.commit()
    expect(await nextDueInMs(store)).toBeGreaterThan(0)

    await store.keepClock({ always: true })

    expect(await nextDueInMs(store)).toBe(0)
  })
})
