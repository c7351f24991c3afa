import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../support/builders.ts'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxSetup, InboxUnderTest } from '../support/inbox-under-test.ts'
import { moveClock } from '../support/move-clock.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const EVENTS = 60
/** What a handler takes, by a clock that only handlers move on: far more than what a busy machine adds to it. */
const HANDLER_MS = 300
/** One event at a time, so that the order of the claims is the order of the runs. */
const ONE_BY_ONE = { concurrency: 1, groupMax: 1, groupBudgetMs: 60_000, deadAfterMs: 600_000 }
/** A share of 30 and 10 in it, and as much as noise can change. */
const FIRST = 40
const NOISE = 3

/** What `worker.weights` and the `weight` of a handler do, while both sides have events waiting. */
export function weightsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: weights`, () => {
    test.each([
      ['three times as much for a source of weight 3', { stripe: 3 }, 30],
      ['a third for a source that another one outweighs', { pings: 3 }, 10],
      ['the same for both without them', {}, 20],
    ] as const)('%s', async (_, weights, share) => {
      const { store, ran } = await openCounting(underTest, { worker: { ...ONE_BY_ONE, weights } })
      await storeSome(store, { source: 'stripe', type: 'invoice.paid' })
      await storeSome(store, { source: 'pings', type: 'ping' })

      const order = await ran((inbox, run) => {
        inbox.on('stripe', '*', () => run('stripe'))
        inbox.on('pings', '*', () => run('pings'))
      })

      expectShare(order, 'stripe', share)
    })

    test('three times as much for a handler of weight 3', async () => {
      const { store, ran } = await openCounting(underTest, { worker: ONE_BY_ONE })
      await storeSome(store, { source: 'stripe', type: 'invoice.paid' })
      await storeSome(store, { source: 'stripe', type: 'charge.paid' })

      const order = await ran((inbox, run) => {
        inbox.on('stripe', 'invoice.paid', { weight: 3 }, () => run('heavy'))
        inbox.on('stripe', 'charge.paid', () => run('light'))
      })

      expectShare(order, 'heavy', 30)
    })
  })
}

function expectShare(order: readonly string[], name: string, share: number): void {
  const found = order.slice(0, FIRST).filter((each) => each === name).length
  expect(Math.abs(found - share)).toBeLessThanOrEqual(NOISE)
}

async function openCounting(underTest: StoreUnderTest, setup: InboxSetup) {
  const { inbox, store } = await openInbox(underTest, setup)
  const clock = moveClock()
  // What counts is the time of the handlers, and not how long this machine needs for a commit.
  clock.stop()
  /** The names in the order of the runs. */
  const ran = async (
    handle: (inbox: InboxUnderTest['inbox'], run: (name: string) => void) => void,
  ): Promise<readonly string[]> => {
    const order: string[] = []
    handle(inbox, (name) => {
      order.push(name)
      clock.forward(HANDLER_MS)
    })
    const done = untilDone(inbox, 2 * EVENTS)
    await inbox.start()
    await done
    await inbox.stop()
    return order
  }
  return { store, ran }
}

async function storeSome(
  store: InboxUnderTest['store'],
  about: { readonly source: string; readonly type: string },
): Promise<void> {
  const drafts = Array.from({ length: EVENTS }, (_, n) =>
    anEventDraft({ ...about, key: `${about.type}_${n}` }),
  )
  await store.events.record(drafts, { deadlineMs: 60_000 })
}
