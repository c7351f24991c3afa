import { describe, expect, test } from 'vitest'
import { runSteadily, runThroughRestarts } from '../support/gateway/fleet-run.ts'
import type { FleetCounts, FleetPlan } from '../support/gateway/fleet-run.ts'
import { createPostgresDatabase, hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { postgresUrl } from '../support/postgres/postgres-url.ts'

/** As `npm run fleet` does with many thousand events. */
const EVENTS = 100
const EVENTS_BETWEEN = 20

describe.skipIf(hasNoPostgres)(
  'three receivers, three workers and two relays over one PostgreSQL',
  { timeout: 600_000 },
  () => {
    test('every event that was answered reaches the service behind them, under one id, and has one effect', async () => {
      const counts = await runSteadily(await planFleet(), EVENTS)

      expectEachOnce(counts)
      expect(counts.acknowledged).toBe(EVENTS)
      expect(counts.answers).toEqual({ 200: counts.deliveries })
    })

    test('each of them is restarted in turn under load: no sender sees an answer but 200 and 503 with Retry-After, and none is cut off', async () => {
      const counts = await runThroughRestarts(await planFleet(), EVENTS_BETWEEN)

      expectEachOnce(counts)
      expect(counts.exitCodes).toEqual(Array(8).fill(0))
      expect(counts.unexpected).toEqual([])
    })
  },
)

async function planFleet(): Promise<FleetPlan> {
  return {
    shape: { receivers: 3, workers: 3, relays: 2 },
    store: postgresUrl(await createPostgresDatabase()),
    senders: 6,
  }
}

function expectEachOnce(counts: FleetCounts): void {
  const { acknowledged } = counts
  expect(counts).toMatchObject({
    lost: [],
    doubled: [],
    arrived: acknowledged,
    webhookIds: acknowledged,
    effects: acknowledged,
  })
}
