import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { orderingContract } from './ordering.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared !== null) orderingContract(postgresUnderTest('PostgreSQL', () => shared))
})
