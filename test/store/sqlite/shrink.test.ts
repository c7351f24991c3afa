import { statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { prune } from '../../../src/retention/prune.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { policyIn } from '../../support/retention-steps.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { done, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'

describe('a file whose events were pruned', () => {
  test('is given back to the disk, but for what is kept', async () => {
    const { store, database, second } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
    const body = 'x'.repeat(20_000)
    const drafts = Array.from({ length: 300 }, (_, n) =>
      anEventDraft({ key: `evt_${n}`, body: `${body}${n}` }),
    )
    await store.events.record(drafts, { deadlineMs: 60_000 })
    for (;;) {
      const group = await store.queue.claim(aClaim({ limit: 1_000 }))
      if (group === undefined) break
      await group.settle(group.events.map(done))
      await group.commit()
    }
    const sizeOf = async () => {
      await database.execute('pragma wal_checkpoint(truncate)')
      return statSync(database.file).size
    }
    const before = await sizeOf()
    const other = await second()
    await recordOne(other, anEventDraft({ key: 'beside' }))

    const result = await prune({ store, policy: policyIn(31) }, { force: true })

    expect(result).toMatchObject({ removed: { events: 300 } })
    expect(before).toBeGreaterThan(6_000_000)
    expect(await sizeOf()).toBeLessThan(before / 10)
    // A file that became shorter this way was not cut: the other processes go on.
    await other.events.beat(undefined)
    expect(await recordOne(other, anEventDraft({ key: 'after' }))).toMatchObject({
      status: 'accepted',
    })
    expect(await recordOne(store, anEventDraft({ key: 'after' }))).toMatchObject({
      status: 'duplicate',
    })
  })
})
