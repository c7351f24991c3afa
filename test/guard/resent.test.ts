import { describe, expect, test } from 'vitest'
import { aSignal } from '../support/a-signal.ts'
import { aGuard } from '../support/redis/guard-under-test.ts'
import { hasNoRedis, openRedis, watchScripts } from '../support/redis/open-redis.ts'

/** A client that loses every answer once and sends the command again, as ioredis does when it reconnects. */
async function aForgetfulGuard(): ReturnType<typeof aGuard> {
  const redis = await openRedis()
  // The scripts are known to the server, so that the hash is all it takes.
  await aGuard({ redis }).then(async ({ guard }) => {
    await guard.once('orders', 'evt_1', () => 1)
    await guard
      .once('orders', 'evt_2', () => Promise.reject(new Error('no')))
      .catch(() => undefined)
  })
  const client = watchScripts(redis.client, async (_sha1, send) => {
    await send()
    return send()
  })
  return aGuard({ redis, client })
}

describe.skipIf(hasNoRedis)('a command that is sent twice', () => {
  test('does not keep its own sender out, and is marked', async () => {
    const { guard } = await aForgetfulGuard()

    expect(await guard.once('orders', 'evt_1', () => 1)).toEqual({ status: 'done', result: 1 })
    expect(await guard.once('orders', 'evt_1', () => 2)).toEqual({
      status: 'duplicate',
      result: 1,
    })
  })

  test('still keeps others out', async () => {
    const { guard } = await aForgetfulGuard()
    const running = aSignal()
    const go = aSignal()

    const first = guard.once('orders', 'evt_1', () => (running.give(), go.given))
    await running.given
    const second = await guard.once('orders', 'evt_1', () => 2)
    go.give()

    expect(second.status).toBe('busy')
    expect((await first).status).toBe('done')
  })

  test('gives the lease back once', async () => {
    const { guard } = await aForgetfulGuard()

    await expect(
      guard.once('orders', 'evt_1', () => Promise.reject(new Error('no'))),
    ).rejects.toThrow('no')

    expect((await guard.once('orders', 'evt_1', () => 2)).status).toBe('done')
  })
})
