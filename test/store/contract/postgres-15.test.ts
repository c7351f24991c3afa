import { afterAll, beforeAll, describe } from 'vitest'
import { findBinaries } from '../../support/postgres/find-binaries.ts'
import { postgresUnderTest } from '../../support/postgres/postgres-under-test.ts'
import { startPostgres } from '../../support/postgres/start-postgres.ts'
import type { PostgresServer } from '../../support/postgres/start-postgres.ts'
import { everyContract } from './every-contract.ts'

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
