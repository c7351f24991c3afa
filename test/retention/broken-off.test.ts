import { expect, test } from 'vitest'
import { RETENTION_DEFAULTS } from '../../src/retention/options.ts'
import { prune } from '../../src/retention/prune.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { openStore } from '../support/store-under-test.ts'

test('a daily run that a stop has broken off is no run, so that another process takes it up', async () => {
  const { store } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  const context = { store, policy: RETENTION_DEFAULTS }
  const before = await store.retention.findLastRun()

  await prune(context, { signal: AbortSignal.abort() })
  const brokenOff = await store.retention.findLastRun()
  await prune(context)
  const whole = await store.retention.findLastRun()

  expect(brokenOff.lastMs).toBe(before.lastMs)
  expect(whole.lastMs).toBeGreaterThan(before.lastMs)
})
