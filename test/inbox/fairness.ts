import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../support/builders.ts'
import { deliver, openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const WRITE = 'insert into effects (event_key, note) values ($1, $2)'
const FLOOD = 2_000

/** What every inbox must do when one kind of event is many, bad or slow: the others do not wait for it. */
export function fairnessContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: beside others`, () => {
    test('H30: events run while the handlers of another type hang, with every default', async () => {
      const { inbox, store, countEffects } = await openInbox(underTest)
      await storeMany(store, 'charge.hangs', 60)
      await storeMany(store, 'invoice.paid', 60)
      let hanging = 0
      inbox.on('stripe', 'charge.hangs', { timeoutMs: 600_000 }, (_event, { signal }) => {
        hanging += 1
        return untilAborted(signal)
      })
      inbox.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, '']))
      const done = untilDone(inbox, 60)

      await inbox.start()
      await done

      expect(await countEffects()).toBe(60)
      expect(hanging).toBeGreaterThan(0)
    })

    test('H30: the same for step handlers whose calls hang', async () => {
      const { inbox, store } = await openInbox(underTest, { worker: { stepsMax: 10 } })
      await storeMany(store, 'charge.hangs', 30)
      await storeMany(store, 'invoice.paid', 30)
      const called = new Set<string>()
      inbox.steps('stripe', 'charge.hangs', { timeoutMs: 600_000 }, (_event, step) =>
        step.call('hang', ({ signal }) => untilAborted(signal)),
      )
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        await step.call('call', async () => void called.add(event.key))
      })
      const done = untilDone(inbox, 30)

      await inbox.start()
      await done

      expect(called.size).toBe(30)
    })

    test.each([
      ['only succeeds', () => undefined],
      [
        'only fails',
        () => {
          throw new Error('no luck')
        },
      ],
    ])('H31: an event does not wait for a flood of a type that %s', async (_, handler) => {
      const { inbox, store, next } = await openInbox(underTest)
      await storeMany(store, 'charge.flood', FLOOD)
      await storeMany(store, 'invoice.paid', 1)
      let settled = 0
      for (const name of ['event.done', 'event.failed'] as const)
        inbox.events.on(name, ({ type }) => (settled += type === 'charge.flood' ? 1 : 0))
      inbox.on('stripe', 'charge.flood', handler)
      inbox.on('stripe', 'invoice.paid', () => undefined)
      const quiet = next('event.done', ({ type }) => type === 'invoice.paid')

      await inbox.start()
      await quiet

      // In the order in which they were stored it would have been the last.
      expect(settled).toBeLessThan(FLOOD / 2)
    })

    test('H32: an event does not wait for a flood that no handler wants, all of which is parked', async () => {
      const { inbox, store, next } = await openInbox(underTest)
      await storeMany(store, 'charge.unknown', FLOOD)
      await storeMany(store, 'invoice.paid', 1)
      let parked = 0
      inbox.events.on('event.unhandled', () => (parked += 1))
      inbox.on('stripe', 'invoice.paid', () => undefined)
      const quiet = next('event.done')

      await inbox.start()
      await quiet

      expect(parked).toBeLessThan(FLOOD)
      await expect.poll(() => parked).toBe(FLOOD)
      const [event] = await store.operators.listEventsByKey('stripe', 'charge.unknown_7')
      expect(event).toMatchObject({ state: 'unhandled' })
    })

    test('H33: of two workers with different handlers, neither parks nor delays what is the other’s', async () => {
      const { inbox, another, store } = await openInbox(underTest)
      const other = another()
      let parked = 0
      const ran: string[] = []
      for (const [each, type] of [
        [inbox, 'invoice.paid'],
        [other, 'charge.paid'],
      ] as const) {
        each.events.on('event.unhandled', () => (parked += 1))
        each.on('stripe', type, (event) => void ran.push(event.type))
      }
      await inbox.start()
      await other.start()
      const done = Promise.all([untilDone(inbox, 100), untilDone(other, 100)])

      await storeMany(store, 'invoice.paid', 100)
      await storeMany(store, 'charge.paid', 100)
      await done

      expect(parked).toBe(0)
      expect(ran.filter((type) => type === 'charge.paid')).toHaveLength(100)
    })

    test('H33: what only a worker that has gone could run is parked, and runs when it is back', async () => {
      const { inbox, another, store, deliver: send } = await openInbox(underTest)
      const gone = another()
      gone.on('stripe', 'charge.paid', () => undefined)
      await gone.start()
      inbox.on('stripe', 'invoice.paid', () => undefined)
      await inbox.start()
      await gone.stop()

      await send('evt_1', { type: 'charge.paid' })
      const find = async () => (await store.operators.listEventsByKey('stripe', 'evt_1'))[0]?.state
      await expect.poll(find).toBe('unhandled')
      const back = another()
      back.on('stripe', 'charge.*', () => undefined)
      await back.start()

      await expect.poll(find).toBe('done')
    })

    test('H34: a group whose events all take long and fail is not rerun to its end in one go', async () => {
      const { inbox, store, next } = await openInbox(underTest, { worker: { groupBudgetMs: 50 } })
      let isBad = false
      let ran = 0
      inbox.on('stripe', 'invoice.paid', async () => {
        if (!isBad) return
        ran += 1
        await new Promise((resolve) => setTimeout(resolve, 20))
        throw new Error('no luck')
      })
      // The first runs alone; quick as it is, those after it are grouped.
      const first = next('event.done')
      await inbox.start()
      await storeMany(store, 'invoice.paid', 1)
      await first
      isBad = true
      const ranBefore = next('event.failed').then(() => ran)

      const drafts = Array.from({ length: 50 }, (_, n) => anEventDraft({ key: `bad_${n}` }))
      await store.events.record(drafts, { deadlineMs: 60_000 })

      // One in the group and one alone in each slot, not fifty.
      expect(await ranBefore).toBeLessThan(25)
    })

    test('a retry does not wait for a flood of retries of another type', async () => {
      const { inbox, store, next } = await openInbox(underTest)
      await storeMany(store, 'charge.flood', 500)
      inbox.on('stripe', 'charge.flood', { retry: { firstMs: 0, attemptsMax: 50 } }, () => {
        throw new Error('no luck')
      })
      inbox.on('stripe', 'invoice.paid', { retry: { firstMs: 0 } }, (_event, { attempt }) => {
        if (attempt === 1) throw new Error('once')
      })
      const quiet = next('event.done', ({ type }) => type === 'invoice.paid')
      let died = 0
      inbox.events.on('event.dead', () => (died += 1))

      await inbox.start()
      await deliver(inbox, 'evt_quiet')
      await quiet

      // All of them together run 25,000 times before the last is dead.
      expect(died).toBeLessThan(500)
    })
  })
}

async function storeMany(
  store: InboxUnderTest['store'],
  type: string,
  count: number,
): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const drafts = Array.from({ length: Math.min(500, count - from) }, (_, n) => {
      const key = `${type}_${from + n}`
      return anEventDraft({ type, key, body: JSON.stringify({ id: key, type }) })
    })
    await store.events.record(drafts, { deadlineMs: 60_000 })
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
