import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { batchesContract } from './batches.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared !== null) batchesContract(postgresUnderTest('PostgreSQL', () => shared))
})
