import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { PostgresStore } from '../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../support/postgres/open-postgres.ts'
import { unhandled } from '../support/store-steps.ts'

describe.skipIf(hasNoPostgres)('unhandled events on PostgreSQL', () => {
  test('a type too long for an index is parked, listed as it is and woken', async () => {
    const { store } = await openPostgres()
    // Nothing that a page of an index could compress.
    const type = randomBytes(4_000).toString('base64')
    await store.recordEvents([anEventDraft({ type })], { deadlineMs: 20_000 })

    await parkAll(store)

    const { pairs } = await store.listUnhandled({ limit: 10, after: undefined })
    expect(pairs).toEqual([{ source: 'stripe', type }])
    expect(await store.wakeUnhandled(pairs, 10)).toBe(1)
    const group = await store.claimGroup(aClaim())
    expect(group?.events).toMatchObject([{ type }])
    await group?.abandon()
  })

  test('page by page every pair is listed once, with text that no SQL string can hold replaced', async () => {
    const { store } = await openPostgres()
    const types = ['a', 'b', 'c', 'd', 'with\0nul', 'with\u001fseparator', 'lone\ud800half']
    const drafts = types
      .flatMap((type) => [type, type])
      .map((type, n) => anEventDraft({ type, key: `evt_${n}` }))
    await store.recordEvents(drafts, { deadlineMs: 20_000 })
    await parkAll(store)

    const pairs: { source: string; type: string }[] = []
    let after: string | undefined
    do {
      const page = await store.listUnhandled({ limit: 2, after })
      expect(page.pairs.length).toBeLessThanOrEqual(2)
      pairs.push(...page.pairs)
      after = page.next
    } while (after !== undefined)

    expect(pairs.map(({ type }) => type).sort()).toEqual(
      ['a', 'b', 'c', 'd', 'with\ufffdnul', 'with\u001fseparator', 'lone\ufffdhalf'].sort(),
    )
    expect(await store.wakeUnhandled(pairs, 100)).toBe(14)
  })
})

async function parkAll(store: PostgresStore): Promise<void> {
  const group = await store.claimGroup(aClaim({ limit: 100 }))
  await group!.settle(group!.events.map(unhandled))
  expect(await group!.commit()).toEqual({ status: 'committed' })
}
