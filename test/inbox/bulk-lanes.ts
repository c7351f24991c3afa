import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { BulkPlan } from '../../src/admin/plan-bulk.ts'
import { permanent } from '../../src/model/handler-results.ts'
import type { WebhookEvent } from '../../src/model/event.ts'
import type { OrderOptions } from '../../src/ordering/order.ts'
import { apply, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { OrderedInbox, OrderedSetup, Sent } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const REPLAY = {
  action: 'replay',
  filter: { state: 'done' },
  reason: 'its rows were lost',
  onlyIfNotApplied: false,
} as const
const FIFO = { mode: 'fifo', lane: laneOf } as const
const PASS = { ...FIFO, onDead: 'pass' } as const
const SEQUENCE = { mode: 'sequence', lane: laneOf, gapMs: 3_600_000, onGap: 'run' } as const

const SENT: readonly Sent[] = [
  { id: 'e1', lane: 'K', n: 1 },
  { id: 'e2', lane: 'K', n: 2 },
  { id: 'e3', lane: 'K', n: 3 },
]
const IN_ORDER = SENT.map(({ id }) => id)

/** What a bulk does to the order of lanes, on every store. */
export function bulkLanesContract(store: StoreUnderTest): void {
  describe(`${store.name}: a bulk in a lane`, () => {
    test.each([FIFO, SEQUENCE])(
      'replays what was done in the order of the lane: $mode',
      async (order) => {
        const setup = await openOrdered(store)
        const inbox = setup.newInbox()
        inbox.on('partner', '*', { order }, (event, { tx }) => apply(tx, event))
        await inbox.start()
        await setup.deliver(...SENT)
        await expect.poll(() => setup.applied('K')).toEqual(IN_ORDER)

        await runOneByOne(setup, inbox, REPLAY)

        expect(await setup.applied('K')).toEqual([...IN_ORDER, ...IN_ORDER])
      },
    )

    test('replays with step handlers in the order of the lane', async () => {
      const setup = await openOrdered(store)
      const inbox = setup.newInbox()
      inbox.steps('partner', '*', { order: FIFO }, (event, step) =>
        step.tx('apply', (tx) => apply(tx, event)),
      )
      await inbox.start()
      const ids = await setup.deliver(...SENT)
      // What a step applied is there before its event is done.
      for (const id of ids) await expect.poll(async () => (await setup.find(id)).state).toBe('done')

      await runOneByOne(setup, inbox, REPLAY)

      expect(await setup.applied('K')).toEqual([...IN_ORDER, ...IN_ORDER])
    })

    test('retries dead events that were passed in the order of the lane', async () => {
      const setup = await openOrdered(store)
      let isBroken = true
      const inbox = setup.newInbox()
      on(inbox, PASS, () => {
        if (isBroken) throw permanent('a bug')
      })
      await inbox.start()
      const ids = await setup.deliver(...SENT)
      for (const id of ids) await expect.poll(async () => (await setup.find(id)).state).toBe('dead')
      isBroken = false

      await runOneByOne(setup, inbox, { action: 'retry', filter: {} })

      expect(await setup.applied('K')).toEqual(IN_ORDER)
    })
  })
}

function on(
  inbox: OrderedInbox,
  order: OrderOptions<Sent>,
  first: (event: WebhookEvent<Sent>) => void,
): void {
  inbox.on('partner', '*', { order }, (event, { tx }) => {
    first(event)
    return apply(tx, event)
  })
}

/** As slowly as it can be: each event is applied before the next one is acted on. */
async function runOneByOne(
  { store, applied }: OrderedSetup,
  inbox: OrderedInbox,
  plan: BulkPlan,
): Promise<void> {
  const before = (await applied('K')).length
  const { id, count } = await inbox.admin.bulk.plan(plan)
  expect(count).toBe(SENT.length)
  for (let at = 1; at <= count; at += 1) {
    assert.equal((await store.bulks.actOnNext(id)).status, 'done')
    await store.queue.notify()
    await expect.poll(async () => (await applied('K')).length).toBe(before + at)
  }
}
