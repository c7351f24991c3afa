import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { topicOf } from '../../../src/model/topic.ts'
import type { UnhandledTopic } from '../../../src/store/contract/queue.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { unhandled } from '../../support/store-steps.ts'

describe.skipIf(hasNoPostgres)('unhandled events on PostgreSQL', () => {
  test('a type too long for an index is parked, listed as it is and woken', async () => {
    const { store } = await openPostgres()
    // Nothing that a page of an index could compress.
    const type = randomBytes(4_000).toString('base64')
    await store.events.record([anEventDraft({ type })], { deadlineMs: 20_000 })

    await parkAll(store, [type])

    const topic = topicOf('stripe', type)
    const listed = await store.queue.listUnhandled({ limit: 10, after: -1 })
    expect(listed).toEqual([{ topic, source: 'stripe', type }])
    expect(await store.queue.wakeUnhandled([topic], 10)).toBe(1)
    const group = await store.queue.claim(aClaim({ of: [['stripe', type]] }))
    expect(group?.events).toMatchObject([{ type }])
    await group?.abandon()
  })

  test('page by page every pair is listed once, with text that no SQL string can hold replaced', async () => {
    const { store } = await openPostgres()
    const types = ['a', 'b', 'c', 'd', 'with\0nul', 'with\u001fseparator', 'lone\ud800half']
    const drafts = types
      .flatMap((type) => [type, type])
      .map((type, n) => anEventDraft({ type, key: `evt_${n}` }))
    await store.events.record(drafts, { deadlineMs: 20_000 })
    await parkAll(store, types)

    const listed: UnhandledTopic[] = []
    for (let page; page === undefined || page.length === 2; listed.push(...page)) {
      page = await store.queue.listUnhandled({ limit: 2, after: listed.at(-1)?.topic ?? -1 })
      expect(page.length).toBeLessThanOrEqual(2)
    }

    expect(listed.map(({ type }) => type).sort()).toEqual(
      ['a', 'b', 'c', 'd', 'with\ufffdnul', 'with\u001fseparator', 'lone\ufffdhalf'].sort(),
    )
    expect(
      await store.queue.wakeUnhandled(
        listed.map(({ topic }) => topic),
        100,
      ),
    ).toBe(14)
  })
})

async function parkAll(store: PostgresStore, types: readonly string[]): Promise<void> {
  const of = types.map((type) => ['stripe', type] as const)
  const group = await store.queue.claim(aClaim({ limit: 100, of }))
  await group!.settle(group!.events.map(unhandled))
  expect(await group!.commit()).toEqual({ status: 'committed' })
}
