import { describe, inject } from 'vitest'
import { everyContract as everyInboxContract } from '../../inbox/every-contract.ts'
import { ENCRYPTION } from '../../support/encryption-keys.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import { sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { everyContract } from '../contract/every-contract.ts'

const shared = inject('postgres')

// All that stores and inboxes must do, once more with encryption on. Takes minutes: `npm run test:all`.
describe('encrypted', () => {
  const sqlite = sqliteUnderTest('libsql', { encryption: ENCRYPTION })
  everyContract(sqlite)
  everyInboxContract(sqlite)
})

describe.skipIf(shared === null)('encrypted, on PostgreSQL', () => {
  if (shared === null) return
  const postgres = postgresUnderTest('PostgreSQL', () => shared, { encryption: ENCRYPTION })
  everyContract(postgres)
  everyInboxContract(postgres)
})
