import { describe } from 'vitest'
import { hasNodeSqlite, sqliteUnderTest } from '../support/sqlite-under-test.ts'
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

for (const driver of ['libsql', 'node:sqlite'] as const) {
  describe.skipIf(driver === 'node:sqlite' && !hasNodeSqlite)(
    `on ${driver}, which Node has from 22.13 on`,
    () => {
      const underTest = sqliteUnderTest(driver)
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
    },
  )
}
