import { createGuard } from '../../../src/guard/index.ts'
import type { Guard, GuardOptions, RedisClient } from '../../../src/guard/index.ts'
import type { HappeningName } from '../../../src/telemetry/happenings.ts'
import { entryOf } from '../../../src/guard/entry.ts'
import type { ConnectedRedis } from './connect-redis.ts'
import { freshPrefix, openRedis } from './open-redis.ts'

export const SOURCES = { orders: { retryWindowHours: 72 } } as const

export interface GuardUnderTest {
  readonly guard: Guard<typeof SOURCES>
  readonly redis: ConnectedRedis
  readonly happened: HappeningName[]
  /** The key in Redis of an event of `orders`. */
  redisKey(key: string): string
}

type Options = Partial<Omit<GuardOptions<typeof SOURCES>, 'redis'>>

/** A guard with keys of its own. Give `client` to put something between it and Redis. */
export async function aGuard(
  options: Options & { readonly redis?: ConnectedRedis; readonly client?: RedisClient } = {},
): Promise<GuardUnderTest> {
  const { redis = await openRedis(), client = redis.client, ...others } = options
  const prefix = others.prefix ?? freshPrefix()
  const guard = createGuard({ redis: client, sources: SOURCES, logger: SILENT, ...others, prefix })
  const happened: HappeningName[] = []
  guard.events.onAny((name) => happened.push(name))
  return {
    guard,
    redis,
    happened,
    redisKey: (key) => entryOf(prefix, 'orders', key).redisKey,
  }
}

export const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
