/**
 * `hookonce/redis`: a guard for work whose effects are not in a SQL database. It keeps duplicates out by
 * marks in Redis, and is not an inbox: see `docs/guides/redis.md` for what it cannot promise.
 *
 * @module
 */

export { createGuard } from './guard.ts'
export type { Guard, VerifyingNames } from './guard.ts'
export type { Kept } from './kept-result.ts'
export type { GuardedDelivery, Middleware } from './middleware.ts'
export type { GuardOptions, GuardSourceMap, RetryingSource } from './options.ts'
export type { IoRedisClient, NodeRedisClient, RedisClient } from './redis-client.ts'
export type { OnceContext, OnceOutcome } from './run-once.ts'
