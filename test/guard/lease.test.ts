import { describe, expect, test } from 'vitest'
import { HookonceError } from '../../src/errors.ts'
import { RENEW } from '../../src/guard/scripts.ts'
import { until } from '../support/faults/until.ts'
import { aSignal } from '../support/a-signal.ts'
import { aGuard } from '../support/redis/guard-under-test.ts'
import { hasNoRedis, openRedis, watchScripts } from '../support/redis/open-redis.ts'

const OPTIONS = { leaseMs: 4_800, commandTimeoutMs: 4_000 }

describe.skipIf(hasNoRedis)('a lease', () => {
  test('is renewed for as long as the work runs, past its own length', async () => {
    const redis = await openRedis()
    const renewals: unknown[] = []
    const client = watchScripts(redis.client, async (sha1, send) => {
      const reply = await send()
      if (sha1 === RENEW.sha1) renewals.push(reply)
      return reply
    })
    const { guard } = await aGuard({ redis, client, ...OPTIONS })
    const go = aSignal()

    const run = guard.once('orders', 'evt_1', ({ signal }) => go.given.then(() => signal.aborted))
    // Every third of its length: four of them are more than its length.
    await until('it was renewed four times', () => renewals.length >= 4)
    const other = await guard.once('orders', 'evt_1', () => 'beside it')
    go.give()

    expect(other.status).toBe('busy')
    expect(renewals).toEqual(renewals.map(() => ['renewed']))
    expect(await run).toEqual({ status: 'done', result: false })
  })

  test('is not renewed any more once the work has ended', async () => {
    const redis = await openRedis()
    let renewals = 0
    const client = watchScripts(redis.client, (sha1, send) => {
      if (sha1 === RENEW.sha1) renewals += 1
      return send()
    })
    const { guard } = await aGuard({ redis, client, ...OPTIONS })
    const later = await aGuard({ redis, ...OPTIONS })
    await guard.once('orders', 'evt_1', () => 1)
    await expect(
      guard.once('orders', 'evt_2', () => Promise.reject(new Error('no'))),
    ).rejects.toThrow('no')
    const before = renewals

    // Something else of known length: it ends at its first renewal, which comes after theirs.
    const go = aSignal()
    const begun = aSignal()
    const run = later.guard.once('orders', 'evt_3', ({ signal }) => {
      begun.give()
      signal.addEventListener('abort', () => go.give())
      return go.given
    })
    await begun.given
    await redis.send('DEL', later.redisKey('evt_3'))
    await run

    expect(renewals).toBe(before)
  })

  test('that another client removed aborts the work’s signal, and the work cannot be marked', async () => {
    const { guard, redis, redisKey, happened } = await aGuard(OPTIONS)

    const outcome = await guard.once('orders', 'evt_1', async ({ signal }) => {
      await redis.send('SET', redisKey('evt_1'), 'lease another-token', 'PX', '60000')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return signal.reason as unknown
    })

    expect(outcome).toMatchObject({ status: 'unmarked', reason: 'lease-lost' })
    expect(outcome.status === 'unmarked' && outcome.result).toBeInstanceOf(HookonceError)
    expect(outcome.status === 'unmarked' && outcome.result).toMatchObject({ code: 'LEASE_LOST' })
    expect(await redis.send('GET', redisKey('evt_1'))).toBe('lease another-token')
    expect(happened).toEqual(['guard.unmarked'])
  })

  test('that cannot be renewed is given up when its time is over, not before', async () => {
    const redis = await openRedis()
    let failures = 0
    const client = watchScripts(redis.client, (sha1, send) => {
      if (sha1 !== RENEW.sha1) return send()
      failures += 1
      return Promise.reject(new Error('connection lost'))
    })
    const { guard, redisKey } = await aGuard({ redis, client, ...OPTIONS })

    const outcome = await guard.once('orders', 'evt_1', async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      // Redis counts from a little later: until then it would still take the mark.
      const isGone = async () => (await redis.send('EXISTS', redisKey('evt_1'))) === 0
      await until('the lease is over in Redis as well', isGone)
      return failures
    })

    expect(outcome.status).toBe('unmarked')
    expect(failures).toBeGreaterThanOrEqual(1)
  })

  test('is renewed no longer than runMsMax, so that work that never ends gives way', async () => {
    const { guard } = await aGuard({ ...OPTIONS, runMsMax: OPTIONS.leaseMs })
    const stuck = aSignal()
    const first = guard.once('orders', 'evt_1', ({ signal }) => {
      signal.addEventListener('abort', () => stuck.give())
      return new Promise<never>(() => undefined)
    })
    void first.catch(() => undefined)
    await stuck.given

    await until('the next delivery runs', async () => {
      const { status } = await guard.once('orders', 'evt_1', () => 'second')
      return status === 'done'
    })
  })
})
