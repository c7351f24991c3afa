/** Marks have an expiry, so a Redis whose memory is full throws them away under every policy but one. */

import { describe, expect, test } from 'vitest'
import type { ConnectedRedis } from '../support/redis/connect-redis.ts'
import { aGuard } from '../support/redis/guard-under-test.ts'
import { hasNoRedisServer, openRedis, startOwnRedis } from '../support/redis/open-redis.ts'

const EVICTING = [
  'allkeys-lru',
  'allkeys-lfu',
  'allkeys-random',
  'volatile-lru',
  'volatile-lfu',
  'volatile-random',
  'volatile-ttl',
]

const PLENTY = '100mb'

describe.skipIf(hasNoRedisServer).each(['redis', 'ioredis'] as const)(
  'a Redis that evicts, %s',
  (kind) => {
    test.each(EVICTING)('R73: is refused, and nothing runs: %s', async (policy) => {
      const redis = await aRedis(kind, { maxmemory: PLENTY, 'maxmemory-policy': policy })
      const { guard } = await aGuard({ redis, whenUnavailable: 'run' })
      let runs = 0

      const refused = guard.once('orders', 'evt_1', () => (runs += 1))

      await expect(refused).rejects.toMatchObject({ code: 'STORE_UNSAFE', retryable: false })
      await expect(refused).rejects.toThrow(policy)
      expect(runs).toBe(0)
      expect(guard.isReady()).toBe(false)
    })

    test('R73: is taken as soon as it keeps what it is given', async () => {
      const redis = await aRedis(kind, { maxmemory: PLENTY, 'maxmemory-policy': 'allkeys-lru' })
      const { guard } = await aGuard({ redis })
      await expect(guard.once('orders', 'evt_1', () => 1)).rejects.toThrow('noeviction')

      await redis.send('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')

      expect(await guard.once('orders', 'evt_1', () => 1)).toMatchObject({ status: 'done' })
      expect(guard.isReady()).toBe(true)
    })

    test('R73: is taken while it has no limit, or where the user says so', async () => {
      const redis = await aRedis(kind, { maxmemory: '0', 'maxmemory-policy': 'allkeys-lru' })
      const unlimited = await aGuard({ redis })
      expect(await unlimited.guard.once('orders', 'evt_1', () => 1)).toMatchObject({
        status: 'done',
      })
      expect(unlimited.happened).not.toContain('store.warning')

      await redis.send('CONFIG', 'SET', 'maxmemory', PLENTY)
      const careless = await aGuard({ redis, allowUnsafe: true })
      for (const key of ['evt_2', 'evt_3'])
        expect(await careless.guard.once('orders', key, () => 1)).toMatchObject({ status: 'done' })

      expect(careless.happened.filter((name) => name === 'store.warning')).toHaveLength(1)
    })

    test('R73: that does not tell is taken, with one warning', async () => {
      const redis = await aRedis(kind, {})
      await redis.send('ACL', 'SETUSER', 'default', '-info')
      const { guard, happened } = await aGuard({ redis })

      for (const key of ['evt_1', 'evt_2'])
        expect(await guard.once('orders', key, () => 1)).toMatchObject({ status: 'done' })

      expect(happened.filter((name) => name === 'store.warning')).toHaveLength(1)
    })
  },
)

async function aRedis(
  kind: 'redis' | 'ioredis',
  settings: Readonly<Record<string, string>>,
): Promise<ConnectedRedis> {
  const server = await startOwnRedis()
  const redis = await openRedis(kind, server.address)
  for (const [name, value] of Object.entries(settings))
    await redis.send('CONFIG', 'SET', name, value)
  return redis
}
