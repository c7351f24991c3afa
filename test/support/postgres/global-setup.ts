/**
 * One PostgreSQL server per run of the test suite; each test has databases of its own on it.
 *
 * `HOOKONCE_TEST_DATABASE_URL` uses a server that is already there; its user must be allowed to
 * create databases. Without that and without binaries for this platform the PostgreSQL suites are
 * skipped, loudly; under `CI=true` they fail instead.
 *
 * @module
 */

import type { TestProject } from 'vitest/node'
import { findBinaries } from './find-binaries.ts'
import { dropLentDatabases } from './lend-database.ts'
import { startPostgres } from './start-postgres.ts'
import type { ConnectionConfig } from './start-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** How to reach the server of this run; `null` when there is none. */
    postgres: ConnectionConfig | null
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const url = process.env['HOOKONCE_TEST_DATABASE_URL']
  if (url !== undefined && url !== '') {
    const server = parseUrl(url)
    project.provide('postgres', server)
    return () => dropLentDatabases(server)
  }
  if (findBinaries('embedded') === undefined) {
    const message = `No PostgreSQL binaries for ${process.platform}-${process.arch} and no HOOKONCE_TEST_DATABASE_URL.`
    if (process.env['CI'] === 'true') throw new Error(message)
    console.warn(`\n*** ${message} The PostgreSQL suites are SKIPPED. ***\n`)
    project.provide('postgres', null)
    return undefined
  }
  const server = await startPostgres()
  project.provide('postgres', server.config)
  return () => server.dispose()
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
