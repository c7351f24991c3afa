import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import { everyContract } from './every-contract.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  // The suite is skipped as a whole when there is no server.
  if (shared !== null) everyContract(postgresUnderTest('PostgreSQL', () => shared))
})
