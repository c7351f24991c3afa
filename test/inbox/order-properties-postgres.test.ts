import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { orderPropertiesContract } from './order-properties.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared !== null) orderPropertiesContract(postgresUnderTest('PostgreSQL', () => shared))
})
