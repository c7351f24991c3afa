import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Recorded } from '../../../src/model/event.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { limitsIn } from '../../support/retention-steps.ts'
import { act, dead, done, recordOne, runOne } from '../../support/store-steps.ts'

const LOWEST = '00000000-0000-0000-0000-000000000000'

/** A pruner that has removed and not committed yet. */
async function openPruner(config: pg.ClientConfig, part: string, days: number) {
  const client = new pg.Client(config)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query(`select hookonce.prune_${part}($1, $2, 1000)`, [
    JSON.stringify(limitsIn(days, { deadDays: 30 })),
    LOWEST,
  ])
  return client
}

/** From now on a replay waits, with all that it has locked and written, until the gate is opened. */
async function closeGate(config: pg.ClientConfig): Promise<pg.Client> {
  const gate = new pg.Client(config)
  await gate.connect()
  onTestFinished(() => gate.end())
  await gate.query('select pg_advisory_lock(1)')
  await gate.query(`
    create function wait_at_the_gate() returns trigger language plpgsql set lock_timeout = 0 as $gate$
    begin
      perform pg_advisory_xact_lock(1);
      return null;
    end
    $gate$;
    create trigger wait_at_the_gate after insert on hookonce.runs
      for each row execute function wait_at_the_gate()`)
  return gate
}

describe.skipIf(hasNoPostgres)('beside a pruner that has not committed', () => {
  const watched = { sameBytes: 'duplicate' } as const

  test.each([
    ['commits', 'accepted'],
    ['rolls back', 'duplicate'],
  ] as const)(
    'P01: a redelivery waits, and when it %s its event is %s, whole',
    async (end, status) => {
      const { store, config, query } = await openPostgres()
      const first = await recordOne(store, anEventDraft(watched))
      await runOne(store, done)
      const pruner = await openPruner(config, 'keys', 46)

      let answer: Recorded | undefined
      const redelivery = recordOne(store, anEventDraft(watched)).then((one) => (answer = one))
      await expect.poll(() => countWaiting(query)).toBe(1)
      expect(answer).toBeUndefined()
      await pruner.query(end === 'commits' ? 'commit' : 'rollback')

      expect(await redelivery).toMatchObject({ status })
      // Its key and its content, both of one event.
      expect(await query('select distinct event_id from hookonce.keys')).toHaveLength(1)
      expect((await redelivery).eventId === first.eventId).toBe(status === 'duplicate')
    },
  )

  test('P01: a dead event that is being discarded is not retried by its redelivery', async () => {
    const { store, config, query } = await openPostgres()
    const { eventId } = await recordOne(store, anEventDraft())
    await runOne(store, dead)
    const pruner = await openPruner(config, 'dead', 31)

    const redelivery = recordOne(store, anEventDraft())
    await expect.poll(() => countWaiting(query)).toBe(1)
    await pruner.query('commit')

    expect(await redelivery).toEqual({ status: 'duplicate', eventId })
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'discarded' })
  })

  test.each([
    ['payloads', 60, 'events'],
    ['keys', 60, 'keys'],
  ] as const)(
    'P01: an event that an operator is about to replay keeps its %s',
    async (part, days, table) => {
      const { store, config, query } = await openPostgres()
      const { eventId } = await recordOne(store, anEventDraft())
      await runOne(store, done)
      const gate = await closeGate(config)

      const replaying = act(store, 'replay', eventId)
      await expect.poll(() => countWaiting(query)).toBe(1)
      const pruning = store.retention.prune(part, limitsIn(days), undefined)
      // It leaves the event alone, or waits for the operator and then takes it.
      await Promise.race([pruning, expect.poll(() => countWaiting(query)).toBe(2)])
      await gate.query('select pg_advisory_unlock(1)')

      expect(await replaying).toMatchObject({ status: 'done', run: 1 })
      await pruning
      expect(await query(`select 1 from hookonce.${table}`)).toHaveLength(1)
      expect(await runOne(store, done)).toBe(eventId)
    },
  )

  test('P06: new events are stored, and others are duplicates, without waiting', async () => {
    const { store, config } = await openPostgres()
    await recordOne(store, anEventDraft({ key: 'old' }))
    await runOne(store, done)
    const pruner = await openPruner(config, 'keys', 46)
    // It was stored since, and is not the pruner's.
    expect(await recordOne(store, anEventDraft({ key: 'new' }))).toMatchObject({
      status: 'accepted',
    })
    expect(await recordOne(store, anEventDraft({ key: 'new' }))).toMatchObject({
      status: 'duplicate',
    })
    await pruner.query('rollback')
  })
})

async function countWaiting(
  query: (sql: string) => Promise<Record<string, unknown>[]>,
): Promise<number> {
  const rows = await query(
    `select 1 from pg_locks where not granted and pid in
       (select pid from pg_stat_activity where datname = current_database())`,
  )
  return rows.length
}
