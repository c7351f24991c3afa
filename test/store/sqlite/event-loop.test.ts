/** SQLite's statements are synchronous: the event loop has to be let in between them. */

import { describe, expect, onTestFinished, test } from 'vitest'
import { LoopBreaks } from '../../../src/flow/loop-breaks.ts'
import { aMessageDraft, anEventDraft } from '../../support/builders.ts'
import { openInbox, untilDone } from '../../support/inbox-under-test.ts'
import { claimMessages, enqueue, sent } from '../../support/outbox-steps.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, done, nextDueInMs } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)
/**
 * A stretch is 5 ms. Settling 1,000 events took 12 ms on an idle machine, so this many take more than ten stretches
 * there, and four on one that is twice as fast.
 */
const MANY = 5_000
const TURNS_MIN = 4
const LIMIT_MS = 120_000

describe('H26: sqlite: the event loop turns', () => {
  test('while a batch is recorded', { timeout: LIMIT_MS }, async () => {
    const { store } = await openStore(underTest)
    const drafts = Array.from({ length: MANY }, (_, n) => anEventDraft({ key: `evt_${n}` }))

    const turns = await countTurns(() => store.events.record(drafts, { deadlineMs: LIMIT_MS }))

    expect(turns).toBeGreaterThanOrEqual(TURNS_MIN)
    expect(await store.operators.countEvents()).toBe(drafts.length)
  })

  test('while a group is settled', { timeout: LIMIT_MS }, async () => {
    const { store } = await openStore(underTest)
    const drafts = Array.from({ length: MANY }, (_, n) => anEventDraft({ key: `evt_${n}` }))
    await store.events.record(drafts, { deadlineMs: LIMIT_MS })
    const group = await claim(store, { limit: drafts.length })

    const turns = await countTurns(() => group.settle(group.events.map(done)))

    expect(turns).toBeGreaterThanOrEqual(TURNS_MIN)
    expect(await group.commit()).toEqual({ status: 'committed' })
    expect(await nextDueInMs(store)).toBeUndefined()
  })

  test('while a look goes from one type to the next', { timeout: LIMIT_MS }, async () => {
    const { store } = await openStore(underTest)
    const drafts = Array.from({ length: MANY }, (_, n) =>
      anEventDraft({ key: `evt_${n}`, type: `type.${n}` }),
    )
    await store.events.record(drafts, { deadlineMs: LIMIT_MS })

    let found = 0
    const turns = await countTurns(async () => {
      const { due } = await store.queue.look({ after: -1, limit: MANY })
      found = due.length
    })

    expect(turns).toBeGreaterThanOrEqual(TURNS_MIN)
    expect(found).toBe(MANY)
  })

  test('while messages are claimed and settled', { timeout: LIMIT_MS }, async () => {
    const { store } = await openStore(underTest)
    const drafts = Array.from({ length: MANY }, (_, n) => aMessageDraft({ key: `key_${n}` }))
    await enqueue(store, ...drafts)

    let claimed: Awaited<ReturnType<typeof claimMessages>> = []
    const turnsOfClaim = await countTurns(async () => {
      claimed = await claimMessages(store, { limit: drafts.length, leaseMs: LIMIT_MS })
    })
    const turnsOfSettling = await countTurns(() => store.messages.settle(claimed.map(sent)))

    expect(claimed).toHaveLength(drafts.length)
    expect(Math.min(turnsOfClaim, turnsOfSettling)).toBeGreaterThanOrEqual(TURNS_MIN)
  })

  test('between the handlers of a group, and before the group’s time is over', async () => {
    const { inbox, deliver } = await openInbox(underTest, { worker: { groupBudgetMs: 1_000 } })
    const keys = Array.from({ length: 150 }, (_, n) => `evt_${n}`)
    await Promise.all(keys.map((key) => deliver(key)))
    const most = countBetweenTurns()
    inbox.on('stripe', 'invoice.paid', () => {
      most.count()
      spin(1)
    })
    const finished = untilDone(inbox, keys.length)

    await inbox.start()
    await finished

    // Five of a millisecond each make a stretch; without the breaks it is a whole group.
    expect(most.seen()).toBeLessThanOrEqual(25)
  })

  test.each([1, 4])('between the groups of a backlog, with %d slots', async (concurrency) => {
    const worker = { concurrency, groupMax: 10 }
    const { inbox, deliver, countEffects } = await openInbox(underTest, { worker })
    const keys = Array.from({ length: 1_500 }, (_, n) => `evt_${n}`)
    await Promise.all(keys.map((key) => deliver(key)))
    const most = countBetweenTurns()
    inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
    })
    inbox.events.on('event.done', () => most.count())
    const finished = untilDone(inbox, keys.length)

    await inbox.start()
    await finished

    // Without the breaks it is hundreds: the turns are then those in which the lock is left to others.
    expect(most.seen()).toBeLessThanOrEqual(keys.length / 10)
    expect(await countEffects()).toBe(keys.length)
  })

  test('as often as a long stretch needs it, and not between short ones', async () => {
    const breaks = new LoopBreaks()
    const short = await countTurns(() => breaks.each([1, 2, 3], (n) => n))
    const long = await countTurns(() =>
      breaks.each(Array.from({ length: 60 }), () => {
        spin(1)
      }),
    )

    expect(short).toBeLessThanOrEqual(1)
    expect(long).toBeGreaterThanOrEqual(TURNS_MIN)
  })
})

/** How often the event loop turned meanwhile. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  isOver = true
  return turns
}

/** The most that was counted between two turns of the event loop. */
function countBetweenTurns(): { count(): void; seen(): number } {
  let counted = 0
  let most = 0
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  const turn = (): void => {
    counted = 0
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    count: () => {
      counted += 1
      most = Math.max(most, counted)
    },
    seen: () => most,
  }
}

/** Keeps the thread busy. */
function spin(forMs: number): void {
  const until = performance.now() + forMs
  while (performance.now() < until);
}
