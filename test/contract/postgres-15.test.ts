import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBinaries } from '../support/postgres/find-binaries.ts'
import { createPostgresDatabase, newPool } from '../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import { startPostgres } from '../support/postgres/start-postgres.ts'
import type { ConnectionConfig, PostgresServer } from '../support/postgres/start-postgres.ts'
import { everyContract } from './every-contract.ts'

describe.skipIf(findBinaries('debian15') === undefined)('PostgreSQL 15', () => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await startPostgres({ version: 'debian15' })
  })
  afterAll(async () => {
    await server?.dispose()
  })
  const admin = (): ConnectionConfig => {
    if (server === undefined) throw new Error('The server has not been started')
    return server.config
  }
  everyContract(postgresUnderTest('PostgreSQL 15', admin))

  test.each(['claim_fresh', 'claim_again', 'claim_suspect'])(
    'the server does not compile %s, however dear it takes it to be',
    async (claim) => {
      const client = await newPool(await createPostgresDatabase(admin())).connect()
      const plans: string[] = []
      client.on('notice', ({ message }) => plans.push(String(message)))
      await client.query(`load 'auto_explain'`)
      await client.query(`set auto_explain.log_level = 'notice'`)
      await client.query('set auto_explain.log_min_duration = 0')
      await client.query('set auto_explain.log_nested_statements = on')

      await client.query(`select * from hookonce.${claim}('worker-1', 0, 10, '-infinity')`)

      client.release()
      expect(plans.join()).toContain('Index Scan using queue_')
      expect(plans.join()).not.toContain('JIT')
    },
  )
})
