import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../support/builders.ts'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import { moveClock } from '../support/move-clock.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const EVENTS = 120
/** What a handler takes, by a clock that only handlers move on: far more than what a busy machine adds to it. */
const HANDLER_MS = 1_000

/** What `worker.groupBudgetMs` does on every store. */
export function groupBudgetContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a group's time`, () => {
    test('bounds how many events share a transaction', async () => {
      const small = await findLargestGroup(underTest, 5 * HANDLER_MS)
      const large = await findLargestGroup(underTest, 30 * HANDLER_MS)

      expect(small).toBeGreaterThan(1)
      expect(small).toBeLessThanOrEqual(5)
      expect(large).toBeGreaterThan(5)
      expect(large).toBeLessThanOrEqual(30)
    })

    test('that is shorter than a handler leaves every event alone', async () => {
      expect(await findLargestGroup(underTest, HANDLER_MS / 2)).toBe(1)
    })
  })
}

async function findLargestGroup(underTest: StoreUnderTest, groupBudgetMs: number): Promise<number> {
  const worker = { concurrency: 1, groupBudgetMs, deadAfterMs: 600_000 }
  const { inbox, store, database } = await openInbox(underTest, { worker })
  const drafts = Array.from({ length: EVENTS }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await store.events.record(drafts, { deadlineMs: 60_000 })
  const clock = moveClock()
  /** How many ran while so many were committed: those are of one group. */
  const groups = new Map<unknown, number>()
  inbox.on('stripe', 'invoice.paid', { timeoutMs: 600_000 }, async (event, { tx }) => {
    const [row] = await database.query('select count(*) as n from effects')
    await tx.query('insert into effects (event_key) values ($1)', [event.key])
    const committed = String(row?.['n'])
    groups.set(committed, (groups.get(committed) ?? 0) + 1)
    clock.forward(HANDLER_MS)
  })
  const done = untilDone(inbox, EVENTS)
  await inbox.start()
  await done
  await inbox.stop()
  clock.restore()
  return Math.max(...groups.values())
}
