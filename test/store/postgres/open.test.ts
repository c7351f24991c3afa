import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import pg from 'pg'
import { createInbox } from '../../../src/inbox/inbox.ts'
import { unsigned } from '../../../src/providers/unsigned.ts'
import {
  postgresStore,
  printMigrations,
  requireTransaction,
} from '../../../src/store/postgres/index.ts'
import type { PgPool } from '../../../src/store/postgres/index.ts'
import { anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { claimOne, enqueue, sent } from '../../support/outbox-steps.ts'
import { hasNoBinaries } from '../../support/postgres/find-binaries.ts'
import {
  createEmptyPostgresDatabase,
  createPostgresDatabase,
  createRole,
  hasNoPostgres,
  newPool,
  openPostgres,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { startPostgres } from '../../support/postgres/start-postgres.ts'
import { done, recordOne } from '../../support/store-steps.ts'

describe('a store is not made of', () => {
  test.each([
    ['a connection string', 'postgres://user:hunter2@localhost/app'],
    ['a single client', new pg.Client()],
    ['nothing', undefined],
  ])('%s', (_, pool) => {
    expect(() => postgresStore({ pool: pool as unknown as PgPool })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: 'postgresStore.pool' }),
    )
  })

  test.each(['Upper', 'with"quote', '', 'a'.repeat(64), '1st'])('the schema name %j', (schema) => {
    expect(() => postgresStore({ pool: new pg.Pool(), schema })).toThrow(
      expect.objectContaining({ option: 'postgresStore.schema' }),
    )
  })

  test('an option with a misspelt name', () => {
    const options = { pool: new pg.Pool(), shema: 'hooks' }
    expect(() => postgresStore(options)).toThrow(
      expect.objectContaining({ option: 'postgresStore.shema' }),
    )
  })
})

describe.skipIf(hasNoPostgres)('opening', () => {
  // The second is no text that is escaped for a URL, and taken as it is.
  test.each(['orders', 'orders%'])(
    'the unreachable database %s is named, its password is not',
    async (name) => {
      const pool = newPool({ connectionString: `postgres://app:hunter2@127.0.0.1:1/${name}` })

      const error: unknown = await postgresStore({ pool })
        .open()
        .catch((reason: unknown) => reason)

      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true })
      expect(String(error)).toContain(`database ${name} at 127.0.0.1, port 1`)
      expect(JSON.stringify([String(error), error])).not.toContain('hunter2')
    },
  )

  test('a database that refuses at all addresses of its name is told with the reason, then and later', async () => {
    // What Node rejects with, for a name with two addresses.
    const refused = new AggregateError(
      ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}:1`)),
    )
    const store = postgresStore({
      pool: { connect: () => Promise.reject(refused), query: () => Promise.reject(refused) },
    })
    const reason = 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1'

    await expect(store.open()).rejects.toThrow(reason)
    await expect(store.operators.countEvents()).rejects.toThrow(
      `Cannot connect to PostgreSQL: ${reason}`,
    )
  })

  test.skipIf(hasNoBinaries)(
    'a server that may lose what it committed is refused, unless asked for',
    async () => {
      await using server = await startPostgres({ settings: { fsync: 'off' } })
      const pool = newPool(server.config)

      await expect(postgresStore({ pool }).open()).rejects.toMatchObject({
        code: 'STORE_UNSAFE',
        message: expect.stringContaining('fsync is off') as string,
      })
      const store = postgresStore({ pool, allowUnsafe: true })
      await store.open()
      await store.close()
    },
  )

  test('R11: a role that commits asynchronously is warned of at start, and one that does not is not', async () => {
    const config = await createPostgresDatabase()
    const hasty = { ...config, options: '-c synchronous_commit=off' }

    const warnings = await Promise.all(
      [hasty, config].map(async (connection) => {
        const inbox = createInbox({
          store: postgresStore({ pool: newPool({ ...connection, max: 10 }) }),
          sources: { pings: unsigned({ verify: 'none', key: 'body' }) },
          logger: { debug() {}, info() {}, warn() {}, error() {} },
        })
        onTestFinished(() => inbox.stop())
        const heard: string[] = []
        inbox.events.on('store.warning', ({ warning }) => heard.push(warning))
        await inbox.start()
        return heard
      }),
    )

    expect(warnings).toEqual([[expect.stringContaining('synchronous_commit is off')], []])
  })

  test('the printed migrations make a schema that checking accepts', async () => {
    const pool = newPool(await createEmptyPostgresDatabase())
    await pool.query(printMigrations('hooks'))

    const store = postgresStore({ pool, schema: 'hooks', migrate: 'check' })
    await store.open()

    expect(await store.operators.countEvents()).toBe(0)
    await store.close()
  })

  test('a role without the right to create anything opens a schema made for it, and keeps it up', async () => {
    const opened = await openPostgres()
    const { query } = opened
    const role = await createRole(opened)
    await query(`grant usage on schema hookonce to ${role.user}`)
    await query(
      `grant select, insert, update, delete on all tables in schema hookonce to ${role.user}`,
    )
    const [week] = await query(
      `select max(inhrelid::regclass::text) as name
         from pg_inherits
        where inhparent = 'hookonce.events'::regclass and inhrelid <> 'hookonce.events_default'::regclass`,
    )
    await query(`drop table ${String(week?.['name'])}`)
    const store = postgresStore({ pool: newPool(role) })

    await store.open()
    await store.maintain()

    expect(await store.events.beat(undefined)).toMatchObject({ died: [] })
    expect(await query('select to_regclass($1) as made', [week?.['name']])).toEqual([
      { made: null },
    ])
    await store.close()
  })

  test('a role with the rights that the guide gives it leases events and claims messages', async () => {
    const opened = await openPostgres()
    const { query, store: owner } = opened
    const role = await createRole(opened)
    const guide = readFileSync(new URL('../../../docs/guides/postgres.md', import.meta.url), 'utf8')
    const grants = guide.match(/^grant .+ to app;$/gm) ?? []
    for (const grant of grants) await query(grant.replace(' to app;', ` to ${role.user}`))
    await enqueue(owner, {})
    await recordOne(owner, anEventDraft())
    const store = await openStoreOn(role)

    const leased = await leaseOne(store)
    const message = await claimOne(store)

    expect(await store.steps.settle([{ lease: leased.lease, settlement: done(leased) }])).toEqual([
      true,
    ])
    expect(await store.messages.settle([sent(message)])).toEqual(new Set([message.token]))
    await store.close()
  })
})

describe.skipIf(hasNoPostgres)('a transaction is expected', () => {
  test('and a pool is none', async () => {
    const pool = newPool(await createPostgresDatabase())

    await expect(requireTransaction(pool)).rejects.toMatchObject({ code: 'TRANSACTION_EXPECTED' })
  })

  test('and a client is one only after BEGIN', async () => {
    const client = await newPool(await createPostgresDatabase()).connect()

    await expect(requireTransaction(client)).rejects.toMatchObject({ code: 'TRANSACTION_EXPECTED' })
    await client.query('begin')
    await expect(requireTransaction(client)).resolves.toBeUndefined()
    await client.query('commit')
    await expect(requireTransaction(client)).rejects.toMatchObject({ code: 'TRANSACTION_EXPECTED' })

    client.release()
  })
})
