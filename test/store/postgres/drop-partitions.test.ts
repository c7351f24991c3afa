import assert from 'node:assert/strict'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { PruneLimits, PruneStep } from '../../../src/store/contract/retention.ts'
import type { PostgresStore } from '../../../src/store/postgres/index.ts'
import { weekBefore } from '../../../src/store/postgres/sql/ensure-partitions.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { createProbedClients } from '../../support/faults/probed-client.ts'
import { hasNoPostgres, openPostgres, openStoreOn } from '../../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'
import { sendFrom, sent, settleMessage, unknownMessage } from '../../support/outbox-steps.ts'
import { limitsIn, pruneRows } from '../../support/retention-steps.ts'
import { act, dead, done, recordOne, retryIn, runOne } from '../../support/store-steps.ts'

const PARTITIONS = `
  select count(*)::int as found
    from pg_inherits
   where inhparent = $1::regclass and inhrelid::regclass::text !~ 'default$'`

describe.skipIf(hasNoPostgres)('partitions of old weeks', () => {
  test('P04: leave whole, and what has not ended stays where every reader finds it', async () => {
    const { store, query } = await openPostgres()
    await recordOne(store, anEventDraft({ key: 'done' }))
    await runOne(store, done)
    const died = await recordOne(store, anEventDraft({ key: 'dead' }))
    await runOne(store, dead)
    const again = await recordOne(store, anEventDraft({ key: 'again' }))
    await runOne(store, retryIn(0))
    const ready = await recordOne(store, anEventDraft({ key: 'ready' }))

    const { removed, isBusy } = await dropPartitions(store, limitsIn(100))

    expect(isBusy).toBe(false)
    // This week and the two that were made ahead, of four tables.
    expect(removed).toEqual({ events: 1, requests: 0, attempts: 0, outcomes: 0, partitions: 12 })
    expect(await query(PARTITIONS, ['hookonce.events'])).toEqual([{ found: 0 }])
    expect(await store.operators.findEvent(died.eventId)).toMatchObject({
      state: 'dead',
      key: 'dead',
      failures: [{ attempt: 1 }],
    })
    expect(await store.operators.findEvent(again.eventId)).toMatchObject({
      state: 'ready',
      failures: [{ attempt: 1 }],
    })
    const group = await store.queue.claim(aClaim())
    expect(group?.events.map(({ eventId }) => eventId)).toEqual([ready.eventId])
    await group?.abandon()
  })

  test('P04: leave whole, and an event with a message that is unsent or in doubt stays, with its key', async () => {
    const { store, query } = await openPostgres()
    const unsent = await sendFrom(store, 'unsent')
    const inDoubt = await sendFrom(store, 'in-doubt')
    await settleMessage(store, inDoubt.key, unknownMessage)
    const given = await sendFrom(store, 'sent')
    await settleMessage(store, given.key, sent)

    const { removed, isBusy } = await dropPartitions(store, limitsIn(100))
    await pruneRows(store, limitsIn(100))

    expect([isBusy, removed.partitions, removed.events]).toEqual([false, 12, 1])
    expect(await query(PARTITIONS, ['hookonce.events'])).toEqual([{ found: 0 }])
    for (const { eventId, key } of [unsent, inDoubt]) {
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'done',
        payload: 'kept',
      })
      expect(await store.events.knowsKey({ source: 'stripe', key })).toBe(true)
    }
    expect(await store.operators.findEvent(given.eventId)).toBeUndefined()
    // It is sent as ever, and its event then goes with the next run.
    await settleMessage(store, unsent.key, sent)
    await pruneRows(store, limitsIn(100))
    expect(await store.operators.findEvent(unsent.eventId)).toBeUndefined()
  })

  test.each([
    ['dead', dead],
    ['done', done],
  ] as const)(
    'P04: an event that was replayed and is %s again while the week was looked through stays',
    async (_, end) => {
      const { store, config } = await openPostgres()
      const { eventId } = await recordOne(store, anEventDraft({ key: 'again' }))
      await runOne(store, done)
      const pruner = await openWatched(config, /alter table \S+\.events detach/, async () => {
        await act(store, 'replay', eventId)
        await runOne(store, end)
      })

      const { removed } = await dropPartitions(pruner, limitsIn(100))

      expect(removed).toMatchObject({ events: 0, partitions: 12 })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: end === dead ? 'dead' : 'done',
        key: 'again',
        payload: 'kept',
      })
    },
  )

  test('P04: what an event died of while the week was looked through stays', async () => {
    const { store, config } = await openPostgres()
    const { eventId } = await recordOne(store, anEventDraft({ key: 'old' }))
    const pruner = await openWatched(config, /alter table \S+\.attempts detach/, () =>
      runOne(store, dead),
    )

    expect(await dropPartitions(pruner, limitsIn(100))).toMatchObject({
      removed: { partitions: 12 },
    })

    expect(await store.operators.findEvent(eventId)).toMatchObject({
      state: 'dead',
      failures: [{ attempt: 1 }],
    })
  })

  test('P04: how an event has ended while the week was looked through stays', async () => {
    const { store, config } = await openPostgres()
    const { eventId } = await recordOne(store, anEventDraft({ key: 'old' }))
    const pruner = await openWatched(config, /alter table \S+\.outcomes detach/, () =>
      runOne(store, done),
    )

    expect(await dropPartitions(pruner, limitsIn(100))).toMatchObject({
      removed: { partitions: 12 },
    })

    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done', key: 'old' })
  })

  test('R47: the same event at both sides of the end of a week is one event', async () => {
    const { store, query } = await openPostgres()
    const draft = anEventDraft()
    const first = await recordOne(store, draft)
    await runOne(store, done)
    // Its week is over, and its partition gone: what comes now goes elsewhere.
    await dropPartitions(store, limitsIn(100))
    await store.maintain()

    expect(await recordOne(store, draft)).toEqual({ status: 'duplicate', eventId: first.eventId })
    expect(await query('select count(*)::int as found from hookonce.keys')).toEqual([{ found: 1 }])
  })

  test('stay while they are younger than what is kept in them', async () => {
    const { store } = await openPostgres()
    await recordOne(store, anEventDraft())
    await runOne(store, done)

    // The Monday before its days have passed.
    const limits = limitsIn(30)
    const monday = { ...limits, done: weekBefore(limits.done ?? 0) }
    const { removed } = await dropPartitions(store, {
      ...monday,
      skipped: monday.done,
      discarded: monday.done,
    })

    expect(removed).toEqual({ partitions: 0 })
  })

  test('P06: are left to the next run where a transaction holds them, and no delivery waits for it', async () => {
    const { store, config } = await openPostgres()
    await recordOne(store, anEventDraft({ key: 'old' }))
    await runOne(store, done)
    const reader = await connect(config)
    await reader.query('begin')
    await reader.query('select count(*) from hookonce.events')

    let answered = 0
    let isOver = false
    const receiving = (async () => {
      while (!isOver) {
        const { status } = await recordOne(store, anEventDraft({ key: `new_${answered}` }))
        assert.equal(status, 'accepted')
        answered += 1
      }
    })()
    const { removed, isBusy } = await dropPartitions(store, limitsIn(100))
    isOver = true
    await receiving

    // The reader has held its lock all the time: without an end to the waiting none would have been answered.
    expect({ isBusy, removed }).toMatchObject({ isBusy: false, removed: { partitions: 9 } })
    expect(answered).toBeGreaterThan(0)
    // What could not leave with its week is removed row by row.
    expect(
      (await store.retention.prune('payloads', limitsIn(100), undefined)).removed,
    ).toMatchObject({ events: 1 })
    await reader.query('rollback')
  })

  test('P05: are dropped by one pruner at a time', async () => {
    const { store, config } = await openPostgres()
    const other = await connect(config)
    await other.query('begin')
    await other.query('select hookonce.prune_begin()')

    expect(await dropPartitions(store, limitsIn(100))).toMatchObject({
      removed: { partitions: 0 },
      isBusy: true,
    })
    expect(await store.retention.prune('keys', limitsIn(100), undefined)).toMatchObject({
      isBusy: true,
    })
    await other.query('rollback')
  })
})

async function connect(config: ConnectionConfig): Promise<pg.Client> {
  const client = new pg.Client(config)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** A store before whose first statement of that kind something happens. */
async function openWatched(
  config: ConnectionConfig,
  matches: RegExp,
  happen: () => Promise<unknown>,
): Promise<PostgresStore> {
  let hasHappened = false
  const { Client } = createProbedClients(({ text, phase }) => {
    if (hasHappened || phase !== 'before' || !matches.test(text)) return undefined
    hasHappened = true
    return happen().then(() => undefined)
  })
  return openStoreOn({ ...config, Client })
}

async function dropPartitions(store: PostgresStore, limits: PruneLimits): Promise<PruneStep> {
  const step = await store.retention.dropPartitions?.(limits)
  assert(step)
  return step
}
