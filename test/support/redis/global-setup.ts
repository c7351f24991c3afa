/**
 * One Redis server per run of the test suite; each test has a prefix of its own on it.
 *
 * `HOOKONCE_TEST_REDIS_URL` uses a server that is already there. Tests that stop a server or make a
 * cluster start their own and need `redis-server` on the PATH; as root on Debian it is installed. Where
 * there is none the Redis suites are skipped, loudly; under `CI=true` they fail instead.
 *
 * @module
 */

import type { TestProject } from 'vitest/node'
import { provideOnce } from '../provide-once.ts'
import type { Made } from '../provide-once.ts'
import { findOrInstall } from '../tools/find-or-install.ts'
import { RedisServer } from './start-redis.ts'
import type { RedisAddress } from './start-redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    redis: RedisOfRun
  }
}

export interface RedisOfRun {
  /** How to reach the server of this run; `null` when there is none. */
  readonly address: RedisAddress | null
  /** Whether tests can start servers of their own. */
  readonly hasServer: boolean
}

export function setup(project: TestProject): Promise<() => Promise<void>> {
  return provideOnce(project, 'redis', findServer)
}

async function findServer(): Promise<Made<RedisOfRun>> {
  const url = process.env['HOOKONCE_TEST_REDIS_URL'] ?? ''
  const hasServer = findOrInstall('redis-server') !== undefined
  if (!hasServer) {
    const message = 'There is no redis-server on the PATH'
    if (process.env['CI'] === 'true') throw new Error(`${message}.`)
    const what = url === '' ? 'The Redis suites' : 'The Redis suites that stop a server'
    console.warn(`\n*** ${message}. ${what} are SKIPPED. ***\n`)
  }
  if (url !== '') return { value: { address: { url }, hasServer } }
  if (!hasServer) return { value: { address: null, hasServer } }
  const server = await new RedisServer().start()
  return { value: { address: server.address, hasServer }, dispose: () => server.dispose() }
}
