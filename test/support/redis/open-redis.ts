import { randomUUID } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import type { RedisClient } from '../../../src/guard/redis-client.ts'
import { connectRedis } from './connect-redis.ts'
import type { ClientKind, ConnectedRedis } from './connect-redis.ts'
import { RedisServer } from './start-redis.ts'
import type { RedisAddress } from './start-redis.ts'

export const hasNoRedis = inject('redis').address === null
export const hasNoRedisServer = !inject('redis').hasServer

/** The server of this run. */
export function redisAddress(): RedisAddress {
  const { address } = inject('redis')
  if (address === null) throw new Error('There is no Redis; the test should have been skipped')
  return address
}

/** A client for the length of the running test. */
export async function openRedis(
  kind: ClientKind = 'redis',
  address: RedisAddress = redisAddress(),
): Promise<ConnectedRedis> {
  const connected = await connectRedis(kind, address)
  onTestFinished(() => connected.close())
  return connected
}

/** A server of its own for the running test. */
export async function startOwnRedis(): Promise<RedisServer> {
  const server = await new RedisServer().start()
  onTestFinished(() => server.dispose())
  return server
}

/** For keys that no other test uses. */
export function freshPrefix(): string {
  return `test-${randomUUID()}:`
}

/** Lets a test see, hold or repeat what a guard sends, one script at a time, by its hash. */
export function watchScripts(
  client: RedisClient,
  around: (sha1: string, send: () => Promise<unknown>) => Promise<unknown>,
): RedisClient {
  const redis = client as {
    evalSha(sha1: string, options: unknown): Promise<unknown>
    eval(text: string, options: unknown): Promise<unknown>
  }
  return {
    evalSha: (sha1: string, options: unknown) => around(sha1, () => redis.evalSha(sha1, options)),
    eval: (text: string, options: unknown) => redis.eval(text, options),
  }
}
