import { describe, expect, test } from 'vitest'
import { createGuard } from '../../src/guard/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { SILENT } from '../support/redis/guard-under-test.ts'
import { freshPrefix, hasNoRedis, openRedis } from '../support/redis/open-redis.ts'

const OLD = 'whsec_the_old_secret_of_some_length'
const NEW = 'whsec_the_new_secret_of_some_length'

describe.skipIf(hasNoRedis)('the secrets of a guard', () => {
  test('R33: overlap, end, and are counted each', async () => {
    const redis = await openRedis()
    const until = new Date(Date.now() + 3_600_000)
    const past = new Date(until.getTime() + 1)
    const guard = createGuard({
      redis: redis.client,
      prefix: freshPrefix(),
      logger: SILENT,
      sources: {
        stripe: stripe({
          secrets: [
            { value: NEW, label: 'new' },
            { value: OLD, label: 'old', until },
          ],
        }),
      },
    })
    guard.on('stripe', () => undefined)
    const deliver = async (key: string, secret: string, at = new Date()) =>
      (await guard.receive('stripe', sign('stripe', { key, at }, { secret }))).status

    expect(await deliver('evt_1', OLD)).toBe(200)
    expect(await deliver('evt_1', OLD)).toBe(200)
    expect(await deliver('evt_2', NEW)).toBe(200)
    expect(await deliver('evt_3', OLD, past)).toBe(401)

    expect(guard.listSecrets({ source: 'stripe' })).toMatchObject([
      { label: 'new', deliveries: 1, lastUsedAt: expect.any(Date), until: undefined },
      { label: 'old', deliveries: 2, lastUsedAt: expect.any(Date), until },
    ])
    expect(() => guard.listSecrets({ source: 'strpie' })).toThrow(
      expect.objectContaining({ code: 'SOURCE_UNKNOWN' }),
    )
  })
})
