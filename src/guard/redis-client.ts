/**
 * The Redis clients that are taken, by their shape: `redis` (node-redis 5, single, pool and cluster)
 * and `ioredis` (single and cluster). None is imported; the user's client is the user's.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'

/** The part of a client of `redis` that is used. */
export interface NodeRedisClient {
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** The part of a client of `ioredis` that is used. */
export interface IoRedisClient {
  evalsha(sha1: string, keyCount: number, ...args: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...args: string[]): Promise<unknown>
}

/** A client of `redis` or `ioredis`. */
export type RedisClient = NodeRedisClient | IoRedisClient

/** The two ways of running a script, the same for both clients. */
export interface ScriptClient {
  bySha(sha1: string, key: string, args: readonly string[]): Promise<unknown>
  byText(text: string, key: string, args: readonly string[]): Promise<unknown>
}

/** Tells the clients apart by how they spell EVALSHA. */
export function toScriptClient(client: unknown): ScriptClient {
  if (hasMethods(client, 'evalSha', 'eval')) {
    const redis = client as NodeRedisClient
    return {
      bySha: (sha1, key, args) => redis.evalSha(sha1, { keys: [key], arguments: [...args] }),
      byText: (text, key, args) => redis.eval(text, { keys: [key], arguments: [...args] }),
    }
  }
  if (hasMethods(client, 'evalsha', 'eval')) {
    const redis = client as IoRedisClient
    return {
      bySha: (sha1, key, args) => redis.evalsha(sha1, 1, key, ...args),
      byText: (text, key, args) => redis.eval(text, 1, key, ...args),
    }
  }
  throw new OptionInvalidError(
    'createGuard.redis',
    'a client of redis (createClient, createClientPool or createCluster) or of ioredis',
    client,
  )
}

function hasMethods(client: unknown, ...names: readonly string[]): boolean {
  if (typeof client !== 'object' || client === null) return false
  return names.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}
