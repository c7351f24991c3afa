import { describe, inject } from 'vitest'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { keysContract } from './keys.ts'
import { storedContract } from './stored.ts'
import { tamperedContract } from './tampered.ts'

const shared = inject('postgres')

// S01 to S03: what a copy of the database tells, what was changed in it, and keys.
function everyFault(underTest: StoreUnderTest): void {
  storedContract(underTest)
  tamperedContract(underTest)
  keysContract(underTest)
}

everyFault(sqliteUnderTest(DEFAULT_DRIVER))

describe.skipIf(shared === null)('PostgreSQL', () => {
  if (shared !== null) everyFault(postgresUnderTest('PostgreSQL', () => shared))
})
