/**
 * One PostgreSQL server per run of the test suite; each test has databases of its own on it.
 *
 * `HOOKONCE_TEST_DATABASE_URL` uses a server that is already there; its user must be a superuser, since
 * tests make databases and roles, end connections and change defaults. Tests that stop the server, or
 * need one with settings of their own, start one beside it. Without that and without binaries for this
 * platform the PostgreSQL suites are skipped, loudly; under `CI=true` they fail instead.
 *
 * @module
 */

import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { provideOnce } from '../provide-once.ts'
import type { Made } from '../provide-once.ts'
import { hasNoBinaries } from './find-binaries.ts'
import { dropLentDatabases } from './lend-database.ts'
import { startPostgres } from './start-postgres.ts'
import type { ConnectionConfig } from './start-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** How to reach the server of this run; `null` when there is none. */
    postgres: ConnectionConfig | null
  }
}

export function setup(project: TestProject): Promise<() => Promise<void>> {
  return provideOnce(project, 'postgres', findServer)
}

async function findServer(): Promise<Made<ConnectionConfig | null>> {
  const url = process.env['HOOKONCE_TEST_DATABASE_URL']
  if (url !== undefined && url !== '') {
    const server = parseUrl(url)
    await requireUsable(server)
    if (hasNoBinaries)
      console.warn('\n*** Tests that need a PostgreSQL server of their own are SKIPPED. ***\n')
    return { value: server, dispose: () => dropLentDatabases(server) }
  }
  if (hasNoBinaries) {
    const message = `No PostgreSQL binaries for ${process.platform}-${process.arch} and no HOOKONCE_TEST_DATABASE_URL.`
    if (process.env['CI'] === 'true') throw new Error(message)
    console.warn(`\n*** ${message} The PostgreSQL suites are SKIPPED. ***\n`)
    return { value: null }
  }
  const server = await startPostgres()
  return { value: server.config, dispose: () => server.dispose() }
}

/** One message instead of a thousand tests that fail. */
async function requireUsable(server: ConnectionConfig): Promise<void> {
  const client = new pg.Client(server)
  try {
    await client.connect()
    const { rows } = await client.query<{ is_superuser: string; fsync: string }>(
      `select current_setting('is_superuser') as is_superuser, current_setting('fsync') as fsync`,
    )
    if (rows[0]?.is_superuser !== 'on') throw new Error(`${server.user} is no superuser`)
    if (rows[0].fsync !== 'on') throw new Error('fsync is off, and stores refuse such a server')
  } catch (cause) {
    throw new Error(`The server at HOOKONCE_TEST_DATABASE_URL cannot be used: ${String(cause)}`, {
      cause,
    })
  } finally {
    await client.end()
  }
}

function parseUrl(text: string): ConnectionConfig {
  const url = new URL(text)
  return {
    host: url.searchParams.get('host') ?? url.hostname,
    port: Number(url.port || 5432),
    user: decodeURIComponent(url.username || 'postgres'),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    database: url.pathname.slice(1) || 'postgres',
  }
}
