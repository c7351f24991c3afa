import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { RedisClient } from '../../../src/guard/redis-client.ts'
import type { RedisAddress } from './start-redis.ts'

export type ClientKind = 'redis' | 'ioredis'

export interface ConnectedRedis {
  readonly client: RedisClient
  /** Any command, for what a test looks at itself. */
  send(...args: [string, ...string[]]): Promise<unknown>
  close(): Promise<void>
}

/** A client as a user would make it: both queue commands while they have no connection. */
export async function connectRedis(
  kind: ClientKind,
  address: RedisAddress,
): Promise<ConnectedRedis> {
  if (kind === 'ioredis') {
    const client = 'path' in address ? new Redis({ path: address.path }) : new Redis(address.url)
    client.on('error', () => undefined)
    return {
      client,
      send: (command, ...args) => client.call(command, ...args),
      close: () => Promise.resolve(client.disconnect()),
    }
  }
  const client =
    'path' in address
      ? createClient({ socket: { path: address.path, tls: false } })
      : createClient({ url: address.url })
  client.on('error', () => undefined)
  await client.connect()
  return {
    client,
    send: (...args) => client.sendCommand(args),
    close: () => Promise.resolve(client.destroy()),
  }
}
