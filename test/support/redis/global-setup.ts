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
import { findOrInstall } from '../tools/find-or-install.ts'
import { RedisServer } from './start-redis.ts'
import type { RedisAddress } from './start-redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** How to reach the server of this run; `null` when there is none. */
    redis: RedisAddress | null
    /** Whether tests can start servers of their own. */
    hasRedisServer: boolean
  }
}

export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const url = process.env['HOOKONCE_TEST_REDIS_URL'] ?? ''
  const binary = findOrInstall('redis-server')
  project.provide('hasRedisServer', binary !== undefined)
  if (binary === undefined) {
    const message = 'There is no redis-server on the PATH'
    if (process.env['CI'] === 'true') throw new Error(`${message}.`)
    const what = url === '' ? 'The Redis suites' : 'The Redis suites that stop a server'
    console.warn(`\n*** ${message}. ${what} are SKIPPED. ***\n`)
  }
  if (url !== '') {
    project.provide('redis', { url })
    return undefined
  }
  if (binary === undefined) {
    project.provide('redis', null)
    return undefined
  }
  const server = await new RedisServer().start()
  project.provide('redis', server.address)
  return () => server.dispose()
}
