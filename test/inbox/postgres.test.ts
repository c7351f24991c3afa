import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { outboxContract } from './outbox.ts'
import { receiveContract } from './receive.ts'
import { stepRulesContract } from './step-rules.ts'
import { stepsContract } from './steps.ts'
import { workContract } from './work.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared === null) return
  const underTest = postgresUnderTest('PostgreSQL', () => shared)
  receiveContract(underTest)
  workContract(underTest)
  outboxContract(underTest)
  stepsContract(underTest)
  stepRulesContract(underTest)
})
