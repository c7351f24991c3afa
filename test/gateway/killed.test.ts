import { describe, expect, test } from 'vitest'
import { ENGINES } from '../support/faults/fault-database.ts'
import { Random } from '../support/faults/random.ts'
import { crashGateway, isKept } from '../support/gateway/crash-gateway.ts'
import type { CrashCounts } from '../support/gateway/crash-gateway.ts'
import { createPostgresDatabase } from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'

/** As `npm run crash:gateway` does two hundred times. */
const KILLS = 4

describe.each(ENGINES)('a gateway that is killed at random under load, on %s', (engine) => {
  test('every event that was answered reaches the service behind it, under one id, and has one effect', async () => {
    const store =
      engine === 'sqlite' ? 'sqlite:hookonce.db' : postgresUrl(await createPostgresDatabase())

    const counts = await crashGateway({ store, kills: KILLS, random: new Random(15) })

    expect(counts).toMatchObject({ lost: [], doubled: [], unexpected: [] })
    expect(counts.storedOfLost).toEqual([])
    expect(counts.acknowledged).toBeGreaterThan(0)
    expect(counts.arrived).toBe(counts.acknowledged)
    expect(counts.webhookIds).toBe(counts.acknowledged)
    expect(counts.effects).toBe(counts.acknowledged)
    expect(isKept(counts)).toBe(true)
  }, 600_000)
})

test.each<[string, Partial<CrashCounts>]>([
  ['nothing was answered', { acknowledged: 0, arrived: 0, webhookIds: 0, effects: 0 }],
  ['something was lost', { lost: ['evt_1'] }],
  ['something was doubled', { doubled: ['evt_1'] }],
  ['an event came under two ids', { webhookIds: 3 }],
  ['an answer was neither 200 nor 503', { unexpected: [500] }],
])('a run is not kept where %s', (_, broken) => {
  const kept: CrashCounts = {
    kills: 1,
    acknowledged: 2,
    deliveries: 6,
    cut: 1,
    unexpected: [],
    requests: 3,
    arrived: 2,
    webhookIds: 2,
    effects: 2,
    lost: [],
    doubled: [],
    storedOfLost: [],
  }

  expect(isKept(kept)).toBe(true)
  expect(isKept({ ...kept, ...broken })).toBe(false)
})
