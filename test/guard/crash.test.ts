import { describe, expect, test } from 'vitest'
import { entryOf } from '../../src/guard/entry.ts'
import type { GuardConfig } from '../support/faults/guard-messages.ts'
import { GuardSubject } from '../support/faults/guard-subject.ts'
import { until } from '../support/faults/until.ts'
import type { ConnectedRedis } from '../support/redis/connect-redis.ts'
import { freshPrefix, hasNoRedis, openRedis, redisAddress } from '../support/redis/open-redis.ts'

interface Scene {
  readonly config: GuardConfig
  readonly redis: ConnectedRedis
  /** Who ran, in order. */
  ledger(): Promise<unknown>
  untilLeaseIsOver(): Promise<void>
  held(): Promise<unknown>
}

async function aScene(config: Partial<GuardConfig> = {}): Promise<Scene> {
  const redis = await openRedis()
  const prefix = freshPrefix()
  const { redisKey } = entryOf(prefix, 'orders', 'evt_1')
  const ledger = `${prefix}ledger`
  return {
    config: {
      client: 'redis',
      address: redisAddress(),
      ledger,
      // So long that no process that lives loses its own: that of one that does not is ended by `untilLeaseIsOver`.
      options: { prefix, leaseMs: 30_000, commandTimeoutMs: 20_000 },
      ...config,
    },
    redis,
    ledger: () => redis.send('LRANGE', ledger, '0', '-1'),
    untilLeaseIsOver: async () => {
      await redis.send('PEXPIRE', redisKey, '1')
      await until('the lease is over', async () => (await redis.send('EXISTS', redisKey)) === 0)
    },
    held: () => redis.send('GET', redisKey),
  }
}

/** Returns in the middle of the work, which ends when it is told to. */
async function hold(subject: GuardSubject, run: string): Promise<void> {
  subject.run(run, 'evt_1', { isHeld: true })
  await subject.untilSaid('running')
}

async function freezePastItsLease(
  scene: Scene,
  subject: GuardSubject,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  subject.signal('SIGSTOP')
  await scene.untilLeaseIsOver()
  await meanwhile()
  subject.signal('SIGCONT')
}

describe.skipIf(hasNoRedis)('with processes that die or freeze', () => {
  test.each(['redis', 'ioredis'] as const)(
    '1,000 duplicates at once over 3 processes on %s run once',
    async (client) => {
      const scene = await aScene({ client })
      const options = { ...scene.config.options, leaseMs: 30_000, commandTimeoutMs: 20_000 }
      const config = { ...scene.config, options }
      const fleet = await Promise.all([1, 2, 3].map(() => GuardSubject.start(config)))

      fleet.forEach((subject, at) =>
        subject.run(`p${at}`, 'evt_1', { times: at === 0 ? 334 : 333 }),
      )
      const outcomes = await Promise.all(
        fleet.map((subject, at) => subject.outcomes(`p${at}`, at === 0 ? 334 : 333)),
      )
      const statuses = outcomes.flat().map(({ status }) => status)

      expect(statuses).toHaveLength(1_000)
      expect(statuses.filter((status) => status === 'done')).toHaveLength(1)
      expect(statuses.filter((status) => status === 'busy' || status === 'duplicate')).toHaveLength(
        999,
      )
      expect(await scene.ledger()).toHaveLength(1)
    },
  )

  test('one that is killed in the middle of the work gives way to the next delivery', async () => {
    const scene = await aScene()
    const first = await GuardSubject.start(scene.config)
    const second = await GuardSubject.start(scene.config)

    await hold(first, 'first')
    second.run('too early', 'evt_1')
    expect(await second.outcomes('too early')).toMatchObject([{ status: 'busy' }])
    await first.kill()
    await scene.untilLeaseIsOver()
    second.run('second', 'evt_1')

    expect(await second.outcomes('second')).toEqual([{ status: 'done', result: { by: 'second' } }])
  })

  // What no guard of this kind can prevent: the work is done, and no process is left to say so.
  test('one that is killed between the work and its mark makes a duplicate, as documented', async () => {
    const scene = await aScene()
    const first = await GuardSubject.start({ ...scene.config, neverMarks: true })
    const second = await GuardSubject.start(scene.config)

    first.run('first', 'evt_1')
    await first.untilSaid('marking')
    await first.kill()
    await scene.untilLeaseIsOver()
    second.run('second', 'evt_1')

    expect(await second.outcomes('second')).toMatchObject([{ status: 'done' }])
    expect(await scene.ledger()).toEqual(['first', 'second'])
  })

  test('one that is killed after its mark leaves a duplicate behind', async () => {
    const scene = await aScene()
    const first = await GuardSubject.start(scene.config)
    const second = await GuardSubject.start(scene.config)

    first.run('first', 'evt_1')
    await first.outcomes('first')
    await first.kill()
    second.run('second', 'evt_1')

    expect(await second.outcomes('second')).toEqual([
      { status: 'duplicate', result: { by: 'first' } },
    ])
    expect(await scene.ledger()).toEqual(['first'])
  })

  test('one that was frozen past its lease cannot mark over the one that took it', async () => {
    const scene = await aScene()
    const frozen = await GuardSubject.start(scene.config)
    const second = await GuardSubject.start(scene.config)

    await hold(frozen, 'frozen')
    await freezePastItsLease(scene, frozen, () => hold(second, 'second'))
    frozen.finish('frozen')
    const outcomes = await frozen.outcomes('frozen')
    const heldMeanwhile = await scene.held()
    second.finish('second')

    expect(outcomes).toEqual([
      { status: 'unmarked', reason: 'lease-lost', result: { by: 'frozen' } },
    ])
    expect(heldMeanwhile).toMatch(/^lease /)
    expect(await second.outcomes('second')).toMatchObject([{ status: 'done' }])
    expect(await scene.held()).toMatch(/\{"by":"second"\}$/)
  })

  test('one that was frozen past its lease cannot mark even when no other delivery took it', async () => {
    const scene = await aScene()
    const frozen = await GuardSubject.start(scene.config)

    await hold(frozen, 'frozen')
    await freezePastItsLease(scene, frozen)
    frozen.finish('frozen')

    expect(await frozen.outcomes('frozen')).toMatchObject([
      { status: 'unmarked', reason: 'lease-lost' },
    ])
    expect(await scene.held()).toBeNull()
  })

  test('one that was frozen past its lease and then fails does not take the lease of the other away', async () => {
    const scene = await aScene()
    const frozen = await GuardSubject.start(scene.config)
    const second = await GuardSubject.start(scene.config)

    await hold(frozen, 'frozen')
    await freezePastItsLease(scene, frozen, () => hold(second, 'second'))
    frozen.fail('frozen')
    expect(await frozen.outcomes('frozen')).toMatchObject([{ status: 'threw' }])
    const heldMeanwhile = await scene.held()
    second.finish('second')

    expect(heldMeanwhile).toMatch(/^lease /)
    expect(await second.outcomes('second')).toMatchObject([{ status: 'done' }])
  })
})
