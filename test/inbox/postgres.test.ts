import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { outboxContract } from './outbox.ts'
import { receiveContract } from './receive.ts'
import { stepsContract } from './steps.ts'
import { workContract } from './work.ts'
import { writesContract } from './writes.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared === null) return
  const underTest = postgresUnderTest('PostgreSQL', () => shared)
  receiveContract(underTest)
  workContract(underTest)
  writesContract(underTest)
  outboxContract(underTest)
  stepsContract(underTest)
})
