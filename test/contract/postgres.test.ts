import { afterAll, beforeAll, describe, inject } from 'vitest'
import { findBinaries } from '../support/postgres/find-binaries.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { PostgresServer } from '../support/postgres/start-postgres.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'
import { claimContract } from './claim.ts'
import { clocksContract } from './clocks.ts'
import { crashSweepContract } from './crash-sweep.ts'
import { leasesContract } from './leases.ts'
import { migrateContract } from './migrate.ts'
import { operatorsContract } from './operators.ts'
import { outboxClaimContract } from './outbox-claim.ts'
import { outboxEnqueueContract } from './outbox-enqueue.ts'
import { outboxOperatorsContract } from './outbox-operators.ts'
import { recordContract } from './record.ts'
import { settleContract } from './settle.ts'
import { settleLeasedContract } from './settle-leased.ts'
import { stepsContract } from './steps.ts'
import { unhandledContract } from './unhandled.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  // The suite is skipped as a whole when there is no server.
  if (shared !== null) everyContract(postgresUnderTest('PostgreSQL', () => shared))
})

describe.skipIf(findBinaries('debian15') === undefined)('PostgreSQL 15', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await startPostgres({ version: 'debian15' })
  })
  afterAll(async () => {
    await server?.dispose()
  })
  everyContract(
    postgresUnderTest('PostgreSQL 15', () => {
      if (server === undefined) throw new Error('The server has not been started')
      return server.config
    }),
  )
})

function everyContract(underTest: StoreUnderTest): void {
  recordContract(underTest)
  claimContract(underTest)
  settleContract(underTest)
  crashSweepContract(underTest)
  leasesContract(underTest)
  settleLeasedContract(underTest)
  clocksContract(underTest)
  stepsContract(underTest)
  unhandledContract(underTest)
  operatorsContract(underTest)
  outboxEnqueueContract(underTest)
  outboxClaimContract(underTest)
  outboxOperatorsContract(underTest)
  migrateContract(underTest)
}
