import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { nextRows } from '../../../src/store/sqlite/retention.ts'
import { anEventDraft } from '../../support/builders.ts'
import { limitsIn } from '../../support/retention-steps.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)

describe('sqlite: a pruner beside writers', () => {
  test('does not count what it waited for the writer as time that it kept others waiting', async () => {
    const { store } = await openStore(underTest)
    await recordOne(store, anEventDraft())
    const group = await claim(store)
    await group.settle(group.events.map(done))
    const pruning = store.retention.prune('payloads', limitsIn(60), undefined)
    await wait(50)
    const freeAt = performance.now()
    await group.commit()

    const { heldMs, removed } = await pruning

    expect(removed.events).toBe(1)
    expect(heldMs).toBeLessThan(performance.now() - freeAt)
  })

  test('looks at more rows after a short step, at fewer after a long one, and always at some', () => {
    expect(nextRows(100, 1)).toBe(200)
    expect(nextRows(100, 8)).toBe(100)
    expect(nextRows(400, 30)).toBe(200)
    expect(nextRows(50, 1_000)).toBe(50)
    expect(nextRows(2_000, 0)).toBe(2_000)
  })
})
