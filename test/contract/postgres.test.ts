import { afterAll, beforeAll, describe, inject } from 'vitest'
import { findBinaries } from '../support/postgres/find-binaries.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { PostgresServer } from '../support/postgres/start-postgres.ts'
import { everyContract } from './every-contract.ts'

const shared = inject('postgres')

describe.skipIf(shared === null)('PostgreSQL', () => {
  // The suite is skipped as a whole when there is no server.
  if (shared !== null) everyContract(postgresUnderTest('PostgreSQL', () => shared))
})

describe.skipIf(findBinaries('debian15') === undefined)('PostgreSQL 15', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await startPostgres({ version: 'debian15' })
  })
  afterAll(async () => {
    await server?.dispose()
  })
  everyContract(
    postgresUnderTest('PostgreSQL 15', () => {
      if (server === undefined) throw new Error('The server has not been started')
      return server.config
    }),
  )
})
