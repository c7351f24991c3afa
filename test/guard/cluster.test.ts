import { Cluster } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createGuard } from '../../src/guard/index.ts'
import type { RedisClient } from '../../src/guard/index.ts'
import { until } from '../support/faults/until.ts'
import { SILENT } from '../support/redis/guard-under-test.ts'
import { hasNoRedisServer } from '../support/redis/open-redis.ts'
import { startClusterNode } from '../support/redis/start-redis.ts'

const RANGES = [
  ['0', '5460'],
  ['5461', '10922'],
  ['10923', '16383'],
] as const

/** Three nodes with a third of the slots each. */
async function startCluster(): Promise<readonly { port: number; keys(): Promise<string[]> }[]> {
  const nodes = await Promise.all(RANGES.map(() => startClusterNode()))
  onTestFinished(async () => {
    await Promise.all(nodes.map((node) => node.dispose()))
  })
  const clients = await Promise.all(
    nodes.map(async ({ port }) => {
      const client = createClient({ url: `redis://127.0.0.1:${port}` })
      client.on('error', () => undefined)
      onTestFinished(() => client.destroy())
      return client.connect()
    }),
  )
  const busPort = async (at: number): Promise<string> => {
    const nodes = await clients[at]?.sendCommand<string>(['CLUSTER', 'NODES'])
    return /@(\d+)/.exec(nodes ?? '')?.[1] ?? ''
  }
  for (const [at, client] of clients.entries()) {
    await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', ...(RANGES[at] ?? [])])
    if (at > 0) {
      const address = ['127.0.0.1', String(nodes[0]?.port), await busPort(0)]
      await client.sendCommand(['CLUSTER', 'MEET', ...address])
    }
  }
  await until('every node knows the cluster to be whole', async () => {
    const infos = await Promise.all(
      clients.map((client) => client.sendCommand<string>(['CLUSTER', 'INFO'])),
    )
    return infos.every((info) => /cluster_state:ok[^]*cluster_known_nodes:3/.test(info))
  })
  return nodes.map(({ port }, at) => ({ port, keys: () => clients[at]!.keys('*') }))
}

async function connect(kind: 'redis' | 'ioredis', ports: readonly number[]): Promise<RedisClient> {
  if (kind === 'ioredis') {
    const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
    client.on('error', () => undefined)
    onTestFinished(() => client.disconnect())
    return client
  }
  const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
  const client = createCluster({ rootNodes })
  client.on('error', () => undefined)
  onTestFinished(() => client.destroy())
  await client.connect()
  return client
}

describe.skipIf(hasNoRedisServer)('on a cluster', () => {
  test.each(['redis', 'ioredis'] as const)(
    'a guard on %s runs every event once, whichever node it belongs to',
    async (kind) => {
      const nodes = await startCluster()
      const redis = await connect(
        kind,
        nodes.map(({ port }) => port),
      )
      const guard = createGuard({
        redis,
        sources: { orders: { retryWindowHours: 24 } },
        logger: SILENT,
      })
      const runs: string[] = []
      const keys = Array.from({ length: 60 }, (_, n) => `evt_${n}`)
      const runAll = () =>
        Promise.all(keys.map((key) => guard.once('orders', key, () => runs.push(key))))

      const first = await runAll()
      await guard
        .once('orders', 'failing', () => Promise.reject(new Error('no')))
        .catch(() => undefined)
      const second = await runAll()

      expect(new Set(first.map(({ status }) => status))).toEqual(new Set(['done']))
      expect(new Set(second.map(({ status }) => status))).toEqual(new Set(['duplicate']))
      expect(runs.sort()).toEqual([...keys].sort())
      const counts = await Promise.all(nodes.map(async (node) => (await node.keys()).length))
      expect(counts.every((count) => count > 0)).toBe(true)
      expect(counts.reduce((sum, count) => sum + count)).toBe(60)
    },
  )
})
