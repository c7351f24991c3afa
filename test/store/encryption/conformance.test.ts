import { describe, inject } from 'vitest'
import { ENCRYPTION } from '../../support/encryption-keys.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import { sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { findingEventsContract } from '../../inbox/finding-events.ts'
import { groupingErrorsContract } from '../../inbox/grouping-errors.ts'
import { showingEventsContract } from '../../inbox/showing-events.ts'
import { conformanceContract } from '../contract/conformance.ts'

const shared = inject('postgres')

// What a store must do it does with encryption on. What ours do beyond that is run by `everything.test.ts`.
describe('encrypted', () => {
  const sqlite = sqliteUnderTest('libsql', { encryption: ENCRYPTION })
  conformanceContract(sqlite)
  findingEventsContract(sqlite)
  groupingErrorsContract(sqlite)
  showingEventsContract(sqlite)
})

describe.skipIf(shared === null)('encrypted, on PostgreSQL', () => {
  if (shared === null) return
  const postgres = postgresUnderTest('PostgreSQL', () => shared, { encryption: ENCRYPTION })
  findingEventsContract(postgres)
  groupingErrorsContract(postgres)
  showingEventsContract(postgres)
})
