import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { github, mailgun, zoom } from '../../src/providers/index.ts'
import { createGuard } from '../../src/guard/index.ts'
import type { GuardOptions } from '../../src/guard/index.ts'
import { sign } from '../../src/testing/index.ts'
import { SILENT } from '../support/redis/guard-under-test.ts'
import { freshPrefix, hasNoRedis, openRedis, watchScripts } from '../support/redis/open-redis.ts'

const SECRET = 'a-secret-of-some-length'
type Sources = Readonly<Record<string, Source>>

describe.skipIf(hasNoRedis)('R66: of a captured request the guard runs no second event', () => {
  test('when it comes under an unsigned id', async () => {
    const { receive, runs, reasons } = await aGuarding(github({ secrets: [SECRET] }))
    const first = sign('github', { key: 'a' }, { secret: SECRET })
    const again = { ...first, headers: { ...first.headers, 'x-github-delivery': 'b' } }

    expect([await receive(first), await receive(first)]).toEqual([200, 200])
    expect([await receive(again), await receive(again)]).toEqual([503, 503])
    expect(runs).toEqual(['a'])
    expect(reasons).toEqual(Array(2).fill('same bytes under another key'))
  })

  test('when many ids come at once', async () => {
    const { receive, runs } = await aGuarding(github({ secrets: [SECRET] }))
    const first = sign('github', { key: 'a' }, { secret: SECRET })
    const renamed = Array.from({ length: 20 }, (_, n) => ({
      ...first,
      headers: { ...first.headers, 'x-github-delivery': `id-${n}` },
    }))

    const statuses = await Promise.all(renamed.map(receive))

    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(runs).toHaveLength(1)
  })

  test('and an event that failed runs again under its own id', async () => {
    const { receive, runs, fail } = await aGuarding(github({ secrets: [SECRET] }))
    const first = sign('github', { key: 'a' }, { secret: SECRET })

    fail(1)
    expect([await receive(first), await receive(first)]).toEqual([500, 200])
    expect(runs).toEqual(['a', 'a'])
  })

  test('where equal bytes are one event, another id is that event, failed or done', async () => {
    const source = github({ secrets: [SECRET], sameBytes: 'duplicate' })
    const { receive, runs, fail } = await aGuarding(source)
    const first = sign('github', { key: 'a' }, { secret: SECRET })
    const deliver = (id: string): Delivery => ({
      ...first,
      headers: { ...first.headers, 'x-github-delivery': id },
    })

    fail(1)
    expect([await receive(deliver('a')), await receive(deliver('b'))]).toEqual([500, 200])
    expect([await receive(deliver('a')), await receive(deliver('c'))]).toEqual([200, 200])
    expect(runs).toEqual(['a', 'b'])
  })

  test('when its signature is put beside other content, which is a conflict', async () => {
    const { receive, runs, happened } = await aGuarding(mailgun({ secrets: [SECRET] }))
    const first = sign('mailgun', { key: 'a' }, { secret: SECRET })
    const text = Buffer.from(first.body).toString()
    const other = { ...first, body: Buffer.from(text.replaceAll('"a"', '"b"')) }

    expect(text).not.toBe(Buffer.from(other.body).toString())
    expect([await receive(first), await receive(other), await receive(other)]).toEqual([
      200, 200, 200,
    ])
    expect(runs).toHaveLength(1)
    expect(happened).toEqual(['guard.done', 'guard.conflict', 'guard.conflict'])
  })

  test('when it is late: its sender keeps it, and is told so once it is known to be done', async () => {
    const { receive, runs, reasons } = await aGuarding(zoom({ secrets: [SECRET] }))
    const first = sign('zoom', {}, { secret: SECRET })
    const later = (delivery: Delivery): Delivery => ({
      ...delivery,
      receivedAt: new Date(delivery.receivedAt.getTime() + 86_400_000),
    })
    const unknown = sign('zoom', {}, { secret: SECRET })

    expect(await receive(first)).toBe(200)
    expect(await receive(later(unknown))).toBe(503)
    expect(await receive(later(first))).toBe(200)
    expect(await receive(unknown)).toBe(200)
    expect(runs).toHaveLength(2)
    expect(reasons).toEqual(['outside the time window'])
  })
})

describe.skipIf(hasNoRedis)('R66: while Redis is away', () => {
  test('a source that runs without a guard still runs', async () => {
    const { client } = await openRedis()
    const away = watchScripts(client, () => Promise.reject(new Error('away')))
    const options = { redis: away, whenUnavailable: 'run' } as const
    const { receive, runs } = await aGuarding(github({ secrets: [SECRET] }), options)

    expect(await receive(sign('github', { key: 'a' }, { secret: SECRET }))).toBe(200)
    expect(runs).toEqual(['a'])
  })
})

async function aGuarding(source: Source, options: Partial<GuardOptions<Sources>> = {}) {
  const redis = await openRedis()
  const guard = createGuard<Sources>({
    redis: redis.client,
    prefix: freshPrefix(),
    sources: { source },
    logger: SILENT,
    ...options,
  })
  const runs: string[] = []
  const happened: string[] = []
  const reasons: string[] = []
  let failures = 0
  guard.events.onAny((name) => {
    if (name.startsWith('guard.')) happened.push(name)
  })
  guard.events.on('guard.refused', ({ reason }) => reasons.push(reason))
  guard.on('source', ({ key }) => {
    runs.push(key)
    failures -= 1
    if (failures >= 0) throw new Error('It fails')
  })
  return {
    receive: async (delivery: Delivery) => (await guard.receive('source', delivery)).status,
    fail: (times: number) => (failures = times),
    runs,
    happened,
    reasons,
  }
}
