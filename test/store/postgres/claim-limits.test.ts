import { bytesOf } from '../../../src/model/stored-body.ts'
import { describe, expect, test } from 'vitest'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, done, nextDueInMs, runOne } from '../../support/store-steps.ts'

const DEADLINE = { deadlineMs: 20_000 }
const MIB = 1024 * 1024

async function recordMany(store: PostgresStore, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await store.events.record(drafts, DEADLINE)
}

describe.skipIf(hasNoPostgres)('what a claim takes on PostgreSQL', () => {
  test('what was not asked for comes next, however far apart they were due', async () => {
    const { store, query } = await openPostgres()
    await recordMany(store, 10)
    await query(`
      update hookonce.queue q
         set run_at = now() - interval '1 day' + o.n * interval '1 hour'
        from (select event_id, row_number() over (order by event_id) as n from hookonce.queue) o
       where o.event_id = q.event_id`)

    const keys: string[] = []
    for (let n = 0; n < 4; n += 1) {
      const group = await claim(store, { limit: 1 })
      keys.push(...group.events.map(({ key }) => key))
      await group.settle(group.events.map(done))
      await group.commit()
    }

    expect(keys).toEqual(['evt_0', 'evt_1', 'evt_2', 'evt_3'])
  })

  test('bodies are handed over up to a budget, and what is beyond it comes next', async () => {
    const { store } = await openPostgres()
    const sizes = [9 * MIB, 9 * MIB, 1, 17 * MIB]
    for (const [n, size] of sizes.entries()) {
      await store.events.record(
        [anEventDraft({ key: `evt_${n}`, body: new Uint8Array(size).fill(n) })],
        DEADLINE,
      )
    }

    const first = await claim(store)
    expect(first.events.map(({ key }) => key)).toEqual(['evt_0'])
    await first.settle(first.events.map(done))
    await first.commit()

    const second = await claim(store)
    expect(second.events.map(({ key }) => key)).toEqual(['evt_1', 'evt_2'])
    await second.settle(second.events.map(done))
    await second.commit()

    // One that is over the budget by itself still runs.
    const third = await claim(store)
    expect(third.events.map(({ key, body }) => [key, bytesOf(body).byteLength])).toEqual([
      ['evt_3', 17 * MIB],
    ])
    await third.abandon()
  })

  test('a suspect that waits for another to end is not due', async () => {
    const { store, query } = await openPostgres()
    await recordMany(store, 2)
    await query('update hookonce.queue set crashes = 1')
    expect(await nextDueInMs(store)).toBe(0)
    const slot = { workerId: 'worker-1', slot: 0 }
    const group = await claim(store, { slot, kind: 'suspect' })
    await store.workers.announce(slot, group.events)

    expect(await nextDueInMs(store)).toBeUndefined()
    const other = { workerId: 'worker-2', slot: 0 }
    expect(await store.queue.claim(aClaim({ slot: other, kind: 'suspect' }))).toBeUndefined()

    await group.settle(group.events.map(done))
    await group.commit()
    expect(await nextDueInMs(store)).toBe(0)
    await runOne(store, done, { slot: other, kind: 'suspect' })
    expect(await nextDueInMs(store)).toBeUndefined()
  })
})
