import { describe, expect, inject, test } from 'vitest'
import { aSignal } from '../support/a-signal.ts'
import { connectPostgres, inTransaction } from '../support/own-connection.ts'
import type { OwnConnection } from '../support/own-connection.ts'
import { newPool } from '../support/postgres/open-postgres.ts'
import { postgresUnderTest } from '../support/postgres/postgres-under-test.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import type { DatabaseUnderTest } from '../support/store-under-test.ts'
import { onceContract, openOnce, writeEffect } from './once.ts'
import type { OnceScene, OnceUnderTest } from './once.ts'

const shared = inject('postgres')
const JOB = { source: 'jobs', key: 'job-1' }

async function configOf(database: DatabaseUnderTest): Promise<ConnectionConfig> {
  const [row] = await database.query('select current_database() as name')
  return { ...(shared as ConnectionConfig), database: String(row?.['name']) }
}

const subject: OnceUnderTest = {
  store: postgresUnderTest('PostgreSQL', () => shared as ConnectionConfig),
  connect: async (database) => connectPostgres(await configOf(database)),
}

/** Two connections, of which the first has claimed the key and has not ended. */
async function openHeld(): Promise<OnceScene & { holder: OwnConnection; other: OwnConnection }> {
  const scene = await openOnce(subject)
  const holder = await scene.connect()
  const other = await scene.connect()
  await holder.begin()
  await scene.inbox.once(holder.tx, JOB, async () => {
    await writeEffect(holder, JOB.key)
    return 'of the first'
  })
  return { ...scene, holder, other }
}

/** Resolves when a statement on another connection waits for a lock. */
async function untilWaiting({ database }: OnceScene): Promise<void> {
  await expect
    .poll(() =>
      database.query(
        "select 1 as one from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      ),
    )
    .toHaveLength(1)
}

describe.skipIf(shared === null)('PostgreSQL', () => {
  onceContract(subject)

  describe('once, while another transaction has the key', () => {
    test('waits for its end, and gets its result', async () => {
      const scene = await openHeld()
      const { inbox, holder, other, countEffects } = scene

      const waiting = inTransaction(other, (tx) =>
        inbox.once(tx, JOB, () => writeEffect(other, JOB.key)),
      )
      await untilWaiting(scene)
      await holder.run('commit')

      expect(await waiting).toMatchObject({ status: 'duplicate', result: 'of the first' })
      expect(await countEffects('job-1')).toBe(1)
    })

    test('runs the work when that one is rolled back', async () => {
      const scene = await openHeld()
      const { inbox, holder, other, countEffects } = scene

      const waiting = inTransaction(other, (tx) =>
        inbox.once(tx, JOB, () => writeEffect(other, JOB.key)),
      )
      await untilWaiting(scene)
      await holder.run('rollback')

      expect(await waiting).toMatchObject({ status: 'first' })
      expect(await countEffects('job-1')).toBe(1)
    })

    test('is told so where it does not want to wait, and its transaction can go on', async () => {
      const { inbox, holder, other, countEffects } = await openHeld()

      const status = await inTransaction(other, async (tx) => {
        await other.run("set local lock_timeout = '7s'")
        const refused = await inbox.once(tx, { ...JOB, onConcurrent: 'refuse' }, () => 1)
        await inbox.once(tx, { source: 'jobs', key: 'free', onConcurrent: 'refuse' }, () =>
          writeEffect(other, 'free'),
        )
        const { rows } = await tx.query("select current_setting('lock_timeout') as value")
        expect(rows).toEqual([{ value: '7s' }])
        return refused
      })
      await holder.run('commit')

      expect(status).toEqual({ status: 'running' })
      expect([await countEffects('job-1'), await countEffects('free')]).toEqual([1, 1])
    })

    test('waits no longer than the lock_timeout of the transaction', async () => {
      const { inbox, holder, other } = await openHeld()

      const waiting = inTransaction(other, async (tx) => {
        await other.run("set local lock_timeout = '10ms'")
        return inbox.once(tx, JOB, () => 1)
      })

      await expect(waiting).rejects.toMatchObject({ code: '55P03' })
      await holder.run('rollback')
    })

    test.each(['repeatable read', 'serializable'])(
      'fails under %s when that one commits, and the transaction that is run again is a duplicate',
      async (level) => {
        const scene = await openHeld()
        const { inbox, holder, other, countEffects } = scene
        const attempt = async () => {
          await other.run(`begin isolation level ${level}`)
          try {
            const result = await inbox.once(other.tx, JOB, () => writeEffect(other, JOB.key))
            await other.run('commit')
            return result
          } catch (error) {
            await other.run('rollback')
            throw error
          }
        }

        const waiting = attempt()
        const failed = expect(waiting).rejects.toMatchObject({ code: '40001' })
        await untilWaiting(scene)
        await holder.run('commit')
        await failed

        expect(await attempt()).toMatchObject({ status: 'duplicate', result: 'of the first' })
        expect(await countEffects('job-1')).toBe(1)
      },
    )

    test('a delivery of the same event waits too, and is a duplicate', async () => {
      const scene = await openOnce(subject)
      const { inbox, connect, deliverBytes } = scene
      const holder = await connect()
      await holder.begin()
      const first = await inbox.once(holder.tx, { source: 'pings', key: 'msg_1' }, () => 1)

      const delivered = deliverBytes('msg_1', 'body')
      await untilWaiting(scene)
      await holder.run('commit')

      expect(await delivered).toMatchObject({
        outcome: 'duplicate',
        eventId: (first as { eventId: string }).eventId,
      })
    })
  })

  test('once after a statement that failed and was swallowed: nothing can be kept, and it says so', async () => {
    const { inbox, connect, countEffects } = await openOnce(subject)
    const own = await connect()
    const failing = () => own.tx.query('select 1 / 0').catch(() => undefined)

    await own.begin()
    const swallowed = inbox.once(own.tx, JOB, async () => {
      await writeEffect(own, JOB.key)
      await failing()
    })
    await expect(swallowed).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
    await own.run('rollback')
    await own.begin()
    await failing()
    await expect(inbox.once(own.tx, JOB, () => 1)).rejects.toMatchObject({
      code: 'TRANSACTION_ABORTED',
    })
    await own.run('rollback')

    expect(await countEffects('job-1')).toBe(0)
  })

  test('once with a pool is refused by name, with what to do', async () => {
    const { inbox, database } = await openOnce(subject)
    const pool = newPool({ ...(await configOf(database)), max: 2 })
    const bare = { query: (text: string, values?: unknown[]) => pool.query(text, values) }

    await expect(inbox.once(pool, JOB, () => 1)).rejects.toThrow(
      'A transaction was expected: a pool runs every statement on whichever connection is free; take a client with pool.connect(), send BEGIN, and pass the client',
    )
    // One that does not look like a pool is found out by the database.
    await expect(inbox.once(bare, JOB, () => 1)).rejects.toMatchObject({
      code: 'TRANSACTION_EXPECTED',
    })
    expect(await inbox.admin.listEventsByKey('jobs', 'job-1')).toEqual([])
  })

  test('one call inside another is undone with it, and alone', async () => {
    const { inbox, connect, countEffects } = await openOnce(subject)
    const own = await connect()
    const inner = aSignal()

    await inTransaction(own, (tx) =>
      inbox.once(tx, JOB, async () => {
        const failing = inbox.once(tx, { source: 'jobs', key: 'inner' }, async () => {
          await writeEffect(own, 'inner')
          inner.give()
          throw new Error('inner')
        })
        await expect(failing).rejects.toThrow('inner')
        await writeEffect(own, JOB.key)
      }),
    )
    await inner.given

    expect([await countEffects('inner'), await countEffects('job-1')]).toEqual([0, 1])
  })
})
