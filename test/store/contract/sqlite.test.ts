import { describe } from 'vitest'
import { hasNodeSqlite, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { everyContract } from './every-contract.ts'

for (const driver of ['libsql', 'node:sqlite'] as const) {
  describe.skipIf(driver === 'node:sqlite' && !hasNodeSqlite)(
    `on ${driver}, which Node has from 22.13 on`,
    () => everyContract(sqliteUnderTest(driver)),
  )
}
