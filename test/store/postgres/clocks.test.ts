import { describe, expect, test } from 'vitest'
import { aMessageDraft, anEventDraft } from '../../support/builders.ts'
import { recordKeys, sort } from '../../support/lane-steps.ts'
import { claimMessages } from '../../support/outbox-steps.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, done, nextDueInMs, recordOne, retryIn, runOne } from '../../support/store-steps.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import type { ClaimRequest } from '../../../src/store/contract/queue.ts'
import type { Store } from '../../../src/store/contract/store.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const ALWAYS = { always: true }
const PATIENTLY = { timeout: 60_000 }

// To every statement, a clock that went back by an hour and times that are an hour ahead are the same.
const TIME_AHEAD = `
  update hookonce.meta set value = (value::bigint + ${HOUR_MS})::text where name = 'clock'`
const EVENTS_AHEAD = `
  update hookonce.queue set run_at = run_at + interval '1 hour'`
const MESSAGES_AHEAD = `
  update hookonce.message_queue set send_at = send_at + interval '1 hour'`
const NOTED = `
  select value from hookonce.meta where name = 'set_backs'`

type AnyStore = Store<QueryTx>

type Kind = ClaimRequest['kind']

const KINDS: readonly (readonly [Kind, string, (store: AnyStore) => Promise<unknown>])[] = [
  ['fresh', 'has not begun', (store) => recordKeys(store, ['A1', 'A2'])],
  [
    'head',
    'has not begun, of a lane',
    async (store) => {
      await recordKeys(store, ['A1', 'B1'])
      await sort(store)
    },
  ],
  [
    'again',
    'was about to try again',
    async (store) => {
      await recordKeys(store, ['A1'])
      await runOne(store, retryIn(0))
    },
  ],
]

describe.skipIf(hasNoPostgres)('a clock that is set back on PostgreSQL', () => {
  // A group gives back at its COMMIT what it has not begun; then it is in the queue as it was.
  test.each(KINDS)(
    'C10: what a group held at that time is due soon after it is given back (%s): what it %s',
    async (kind, _what, prepare) => {
      const { store, query } = await open()
      await prepare(store)
      await store.events.keepClock(ALWAYS)
      const group = await claim(store, { kind, limit: 10 })
      await group.lend().tx.query(EVENTS_AHEAD)
      await setBack(store, query)
      await group.settle([])
      await group.commit()
      expect(await nextDueInMs(store)).toBeGreaterThan(HOUR_MS / 2)

      await expect.poll(() => nextDueAfterALook(store), PATIENTLY).toBe(0)

      await expect.poll(() => notedAfterALook(store, query), PATIENTLY).toEqual([])
    },
  )

  test('C10: a message that was written by then, and is seen later, waits as long as it was to', async () => {
    const { store, query } = await open()
    await recordOne(store, anEventDraft())
    await store.events.keepClock(ALWAYS)
    const group = await claim(store)
    await store.messages.enqueue(group.lend().tx, [
      aMessageDraft({ key: 'now' }),
      aMessageDraft({ key: 'later', delayMs: 10 * MINUTE_MS }),
    ])
    await group.lend().tx.query(MESSAGES_AHEAD)
    await setBack(store, query)
    await group.settle(group.events.map(done))
    await group.commit()
    expect(await claimMessages(store)).toEqual([])

    await expect
      .poll(async () => {
        await store.events.keepClock({ always: false })
        return (await claimMessages(store, { limit: 1 })).map(({ key }) => key)
      }, PATIENTLY)
      .toEqual(['now'])

    const dueInMs = Number(await store.messages.nextDueInMs(['receipts'], HOUR_MS))
    expect(dueInMs).toBeGreaterThan(0)
    expect(dueInMs).toBeLessThanOrEqual(10 * MINUTE_MS)
  })

  test('C10: what is written since waits as long as it is to, also while a transaction of before is open', async () => {
    const { store, query } = await open()
    await recordOne(store, anEventDraft({ key: 'before' }))
    await store.events.keepClock(ALWAYS)
    const before = await claim(store)
    await setBack(store, query)
    await recordOne(store, anEventDraft({ key: 'since' }))
    await runOne(store, retryIn(2 * HOUR_MS))
    const [noted] = await query(NOTED)

    // It has looked for what is left.
    await expect
      .poll(async () => (await notedAfterALook(store, query))[0], PATIENTLY)
      .not.toEqual(noted)
    expect(await query(NOTED)).toHaveLength(1)
    await before.settle(before.events.map(done))
    await before.commit()
    await expect.poll(() => notedAfterALook(store, query), PATIENTLY).toEqual([])

    expect(await nextDueInMs(store)).toBeGreaterThan(1.9 * HOUR_MS)
  })

  test('C10: what was held through two of them is moved by both', async () => {
    const { store, query } = await open()
    await recordOne(store, anEventDraft())
    await store.events.keepClock(ALWAYS)
    const group = await claim(store)
    await group.lend().tx.query(EVENTS_AHEAD)
    await group.lend().tx.query(EVENTS_AHEAD)
    await setBack(store, query)
    await setBack(store, query)
    await group.settle([])
    await group.commit()

    await expect.poll(() => nextDueAfterALook(store), PATIENTLY).toBe(0)
  })
})

type Query = Awaited<ReturnType<typeof openPostgres>>['query']

async function open(): Promise<{ readonly store: AnyStore; readonly query: Query }> {
  const { store, query } = await openPostgres()
  return { store: store as unknown as AnyStore, query }
}

async function setBack(store: AnyStore, query: Query): Promise<void> {
  await query(TIME_AHEAD)
  expect((await store.events.keepClock({ always: false })).wentBackMs).toBeGreaterThan(0)
}

async function nextDueAfterALook(store: AnyStore): Promise<number | undefined> {
  await store.events.keepClock({ always: false })
  return nextDueInMs(store)
}

async function notedAfterALook(store: AnyStore, query: Query): Promise<readonly unknown[]> {
  await store.events.keepClock({ always: false })
  return query(NOTED)
}
