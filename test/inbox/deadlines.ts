import { describe, expect, test } from 'vitest'
import type { OrderOptions } from '../../src/ordering/order.ts'
import { apply, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { OrderedInbox, OrderedSetup, Sent } from '../support/ordered-inbox.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { timeOfId } from '../../src/model/id-range.ts'
import { until } from '../support/faults/until.ts'

const HOUR_MS = 3_600_000
const WHY = { reason: 'the bank is down' }

const LATER: Sent = { id: 'later', lane: 'K', n: 2 }
const MISSING: Sent = { id: 'missing', lane: 'K', n: 1, type: 'item.made' }

/** What is missing in a lane, and is dead when it has not come in time. */
const ORDERS: readonly (readonly [string, OrderOptions<Sent>])[] = [
  ['sequence', { mode: 'sequence', lane: laneOf, gapMs: HOUR_MS, onGap: 'dead' }],
  [
    'after',
    { mode: 'after', lane: laneOf, requires: 'item.made', waitMs: HOUR_MS, onMissing: 'dead' },
  ],
]

type Register = (inbox: OrderedInbox, order: OrderOptions<Sent>) => void

// Each of the two events is in the lane, or frees it.
const HANDLERS: readonly (readonly [string, Register])[] = [
  [
    'handlers',
    (inbox, order) => {
      inbox.on('partner', 'item.made', { name: 'maker', ...madeIn(order) }, (event, { tx }) =>
        apply(tx, event),
      )
      inbox.on('partner', 'item.changed', { order }, (event, { tx }) => apply(tx, event))
    },
  ],
  [
    'step handlers',
    (inbox, order) => {
      inbox.steps('partner', 'item.made', { name: 'maker', ...madeIn(order) }, (event, step) =>
        step.tx('apply', (tx) => apply(tx, event)),
      )
      inbox.steps('partner', 'item.changed', { order }, (event, step) =>
        step.tx('apply', (tx) => apply(tx, event)),
      )
    },
  ],
]

const SUBJECTS = ORDERS.flatMap(([mode, order]) =>
  HANDLERS.map(([kind, register]) => [mode, kind, order, register] as const),
)

function madeIn(order: OrderOptions<Sent>): { readonly order?: OrderOptions<Sent> } {
  return order.mode === 'sequence' ? { order } : {}
}

/** When a deadline passes, what was stored in time is not missing, whether it could run or not. */
export function deadlinesContract(store: StoreUnderTest): void {
  describe.each(SUBJECTS)(
    `${store.name}: the deadline of %s, with %s`,
    (_, __, order, register) => {
      test('what was stored while no worker was there has come in time', async () => {
        const setup = await openOrdered(store)
        const first = setup.newInbox()
        register(first, order)
        await first.start()
        const [later = ''] = await setup.deliver(LATER)
        await expect.poll(() => stateOf(setup, later)).toBe('waiting')
        await first.stop()

        const [missing = ''] = await setup.deliver(MISSING)
        await passDeadline(setup, { later, missing })
        const next = setup.newInbox()
        register(next, order)
        await next.start()

        await expect.poll(() => stateOf(setup, later)).toBe('done')
        expect(await setup.applied('K')).toEqual(['missing', 'later'])
      })

      test.each([
        ['source', { source: 'partner' }],
        ['handler', { handler: 'maker' }],
      ] as const)(
        'what was stored while its %s was paused has come in time',
        async (___, subject) => {
          const setup = await openOrdered(store)
          const first = setup.newInbox()
          register(first, order)
          await first.start()
          const [later = ''] = await setup.deliver(LATER)
          await expect.poll(() => stateOf(setup, later)).toBe('waiting')
          await first.stop()
          const looks = new Looks()
          const inbox = setup.newInbox({}, {}, (own) => looks.at(own))
          register(inbox, order)
          await inbox.admin.pause(subject, WHY)
          await inbox.start()

          const [missing = ''] = await setup.deliver(MISSING)
          await passDeadline(setup, { later, missing })
          await looks.untilNext()
          expect(await stateOf(setup, later)).toBe('waiting')
          await inbox.admin.resume(subject, WHY)

          await expect.poll(() => stateOf(setup, later)).toBe('done')
          expect(await setup.applied('K')).toEqual(['missing', 'later'])
        },
      )

      test('a worker without handlers for what waits leaves it to those that have some', async () => {
        const setup = await openOrdered(store)
        const first = setup.newInbox()
        register(first, order)
        await first.start()
        const [later = ''] = await setup.deliver(LATER)
        await expect.poll(() => stateOf(setup, later)).toBe('waiting')
        await first.stop()
        const [missing = ''] = await setup.deliver(MISSING)
        await passDeadline(setup, { later, missing })

        const looks = new Looks()
        const other = setup.newInbox({}, {}, (own) => looks.at(own))
        other.on('partner', 'another.*', () => undefined)
        await other.start()
        await looks.untilNext()

        expect(await stateOf(setup, later)).toBe('waiting')
      })
    },
  )
}

/** The one that is missing has come a moment before. */
async function passDeadline(
  { find, passTime }: OrderedSetup,
  { later, missing }: { readonly later: string; readonly missing: string },
): Promise<void> {
  const deadline = (await find(later)).blockedBy?.until
  await passTime((deadline?.getTime() ?? 0) - timeOfId(missing) - 10)
}

async function stateOf({ find }: OrderedSetup, eventId: string): Promise<string> {
  return (await find(eventId)).state
}

/** Sees a worker decide about what is late. */
class Looks {
  #count = 0

  at(store: Store<QueryTx>): Store<QueryTx> {
    const { lanes } = store
    const passDeadlines: typeof lanes.passDeadlines = async (request) => {
      const passed = await lanes.passDeadlines(request)
      this.#count += 1
      return passed
    }
    return Object.defineProperty(store, 'lanes', { value: { ...lanes, passDeadlines } })
  }

  /** One that began after this was asked. */
  async untilNext(): Promise<void> {
    const enough = this.#count + 2
    await until('a worker has looked at what is late', () => this.#count >= enough)
  }
}
