import { describe, expect, test } from 'vitest'
import { ENGINES } from '../support/faults/fault-database.ts'
import { Random } from '../support/faults/random.ts'
import { crashGateway } from '../support/gateway/crash-gateway.ts'
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
    expect(counts.acknowledged).toBeGreaterThan(0)
    expect(counts.arrived).toBe(counts.acknowledged)
    expect(counts.webhookIds).toBe(counts.acknowledged)
    expect(counts.effects).toBe(counts.acknowledged)
  }, 600_000)
})
