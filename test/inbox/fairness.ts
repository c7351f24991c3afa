import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { topicOf } from '../../src/model/topic.ts'
import { anEventDraft } from '../support/builders.ts'
import { deliver, openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { moveClock } from '../support/move-clock.ts'
import { sweepOthers } from '../support/store-steps.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const WRITE = 'insert into effects (event_key, note) values ($1, $2)'
const FLOOD = 2_000
/** More than a worker remembers of one handler. */
const TYPES = 3_000
/** With how many slots, and how many of them a source of which nothing has ended can have. */
const WORKERS = [
  ['with every default', { stopGraceMs: 0 }, 4],
  ['with two slots', { concurrency: 2, stopGraceMs: 0 }, 2],
  ['with three slots', { concurrency: 3, stopGraceMs: 0 }, 3],
] as const
/** Long enough to be known as slow. */
const SLOW_MS = 1_000

/** What every inbox must do when one kind of event is many, bad or slow: the others do not wait for it. */
export function fairnessContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: beside others`, () => {
    test.each(WORKERS)(
      'H30: events run while the handlers of another type hang, %s',
      async (_, worker) => {
        const { inbox, store, countEffects } = await openInbox(underTest, { worker })
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
        await expect.poll(() => hanging).toBeGreaterThan(0)
      },
    )

    test.each(WORKERS)(
      'H30: events run while a handler hangs with every one of its types, %s',
      async (_, worker, slots) => {
        const { inbox, store } = await openInbox(underTest, { worker })
        for (let type = 0; type < 12; type += 1) await storeMany(store, `charge.${type}`, 3)
        await storeMany(store, 'invoice.paid', 20)
        let hanging = 0
        inbox.on('stripe', 'charge.*', { timeoutMs: 600_000 }, (_event, { signal }) => {
          hanging += 1
          return untilAborted(signal)
        })
        inbox.on('stripe', 'invoice.paid', () => undefined)
        const done = untilDone(inbox, 20)

        await inbox.start()
        await done

        await expect.poll(() => hanging).toBe(slots - 1)
      },
    )

    test.each(WORKERS)(
      'H30: events of a source run while all handlers of another one hang, none of which has ended before, %s',
      async (_, worker, slots) => {
        const { inbox, store, next } = await openInbox(underTest, { worker })
        let hanging = 0
        for (let type = 0; type < 12; type += 1) {
          await storeMany(store, `charge.${type}`, 3)
          inbox.on('stripe', `charge.${type}`, { timeoutMs: 600_000 }, (_event, { signal }) => {
            hanging += 1
            return untilAborted(signal)
          })
        }
        inbox.on('pings', '*', () => undefined)
        await inbox.start()
        // All the slots that they can have.
        await expect.poll(() => hanging).toBe(slots)
        const quiet = next('event.done')

        await storeMany(store, 'ping', 1, 'pings')

        expect(await quiet).toMatchObject({ source: 'pings' })
      },
    )

    test('H30: the same for step handlers, all of which hang', async () => {
      const { inbox, store, next } = await openInbox(underTest, { worker: { stepsMax: 20 } })
      let hanging = 0
      for (let type = 0; type < 30; type += 1) {
        await storeMany(store, `charge.${type}`, 2)
        inbox.steps('stripe', `charge.${type}`, { timeoutMs: 600_000 }, (_event, step) =>
          step.call('hang', ({ signal }) => {
            hanging += 1
            return untilAborted(signal)
          }),
        )
      }
      inbox.steps('pings', '*', (_event, step) => step.call('call', async () => null))
      await inbox.start()
      await expect.poll(() => hanging).toBeGreaterThan(16)
      const quiet = next('event.done')

      await storeMany(store, 'ping', 1, 'pings')

      expect(await quiet).toMatchObject({ source: 'pings' })
    })

    test('H30: the same for a step handler that hangs with every one of its types', async () => {
      const { inbox, store, deliverUntil } = await openInbox(underTest, {
        worker: { stepsMax: 20 },
      })
      for (let type = 0; type < 30; type += 1) await storeMany(store, `charge.${type}`, 1)
      let hanging = 0
      inbox.steps('stripe', 'charge.*', { timeoutMs: 600_000 }, (_event, step) =>
        step.call('hang', ({ signal }) => {
          hanging += 1
          return untilAborted(signal)
        }),
      )
      inbox.steps('stripe', 'invoice.paid', (_event, step) => step.call('call', async () => null))
      await inbox.start()
      // Nothing of it ends, and it has all the places that it can have.
      await expect.poll(() => hanging).toBeGreaterThan(10)

      expect(await deliverUntil('evt_quiet', 'event.done')).toMatchObject({ key: 'evt_quiet' })
    })

    test('H30: an event that promises nothing shares its group with none of another type that hangs', async () => {
      const { inbox, store, next } = await openInbox(underTest)
      await storeMany(store, 'charge.hangs', 1)
      await storeMany(store, 'invoice.paid', 1)
      const lenient = { guarantee: 'at-least-once', timeoutMs: 600_000 } as const
      inbox.on('stripe', 'charge.hangs', lenient, (_event, { signal }) => untilAborted(signal))
      inbox.on('stripe', 'invoice.paid', lenient, () => undefined)
      const quiet = next('event.done')

      await inbox.start()

      expect(await quiet).toMatchObject({ type: 'invoice.paid' })
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
      // When it runs: what is told of its end may come later.
      let settledBefore = Infinity
      inbox.on('stripe', 'invoice.paid', () => void (settledBefore = settled))
      const quiet = next('event.done', ({ type }) => type === 'invoice.paid')

      await inbox.start()
      await quiet

      // In the order in which they were stored it would have been the last.
      expect(settledBefore).toBeLessThan(FLOOD / 2)
    })

    test('H31: an event does not wait for a flood of thousands of types of another source', async () => {
      const { inbox, store, next } = await openInbox(underTest)
      // A look comes to the noisy one first.
      const [noisy, quiet] = (['stripe', 'pings'] as const).toSorted(
        (one, other) => topicOf(one, '') - topicOf(other, ''),
      ) as ['stripe', 'pings']
      const drafts = Array.from({ length: TYPES }, (_, n) =>
        anEventDraft({ source: noisy, type: `type.${n}`, key: `evt_${n}` }),
      )
      await store.events.record(drafts, { deadlineMs: 60_000 })
      await storeMany(store, 'quiet', 1, quiet)
      let ran = 0
      const isDone = next('event.done', ({ source }) => source === quiet)
      // None of them is over before the quiet one: what a worker remembers is full of them.
      inbox.on(noisy, '*', { timeoutMs: 600_000 }, async () => {
        ran += 1
        await isDone
      })
      inbox.on(quiet, '*', () => undefined)

      await inbox.start()

      await isDone
      expect(ran).toBeLessThan(TYPES / 2)
    })

    test('H32: an event does not wait for a flood that no handler wants, all of which is parked', async () => {
      const { inbox, store, next } = await openInbox(underTest)
      await storeMany(store, 'charge.unknown', FLOOD)
      await storeMany(store, 'invoice.paid', 1)
      let parked = 0
      inbox.events.on('event.unhandled', () => (parked += 1))
      let parkedBefore = Infinity
      inbox.on('stripe', 'invoice.paid', () => void (parkedBefore = parked))
      const quiet = next('event.done')

      await inbox.start()
      await quiet

      expect(parkedBefore).toBeLessThan(FLOOD)
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

    test('H45: what was running in a crash takes turns: a quick one waits for one slow one, and not for all', async () => {
      const { inbox, store } = await openInbox(underTest)
      const byTopic = (one: string, other: string) =>
        topicOf('stripe', one) - topicOf('stripe', other)
      // By itself the slow one comes first.
      const [slow = '', quick = ''] = ['charge.paid', 'invoice.paid'].sort(byTopic)
      const ids = [...(await storeMany(store, slow, 3)), ...(await storeMany(store, quick, 1))]
      await crashWith(store, ids)
      const ran: string[] = []
      inbox.on('stripe', slow, async ({ type }) => {
        ran.push(type)
        // The other slots look for something to do meanwhile.
        await sleep(200)
      })
      inbox.on('stripe', quick, ({ type }) => void ran.push(type))
      const done = untilDone(inbox, 4)

      await inbox.start()
      await done

      expect(ran).toHaveLength(4)
      expect(ran.indexOf(quick)).toBeLessThanOrEqual(1)
    })

    test('H38: an event waits for the slow handler that has written, and for none of those behind it', async () => {
      const { inbox, store, next, deliver: send } = await openInbox(underTest)
      const clock = moveClock()
      await storeMany(store, 'charge.slow', 12)
      const quiet = next('event.done', ({ type }) => type === 'invoice.paid')
      const all = untilDone(inbox, 13)
      let end = (): void => undefined
      const isOver = new Promise<void>((resolve) => (end = resolve))
      let wrote = 0
      const isOvertaken = new Promise<'a slow one'>((resolve) => {
        inbox.on('stripe', 'charge.slow', async (event, { tx }) => {
          await tx.query(WRITE, [event.key, ''])
          wrote += 1
          if (wrote > 1) {
            // PostgreSQL lets many write at once.
            if (!underTest.capabilities.parallelGroups) resolve('a slow one')
            return await isOver
          }
          // It is slow by a clock that stands still otherwise: the turns of the others take no time by it.
          clock.stop()
          clock.forward(SLOW_MS)
          void send('evt_quiet')
          await untilItWaits()
        })
      })
      inbox.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, '']))

      await inbox.start()

      // An event needs the writer three times: to be recorded, to be claimed and to be run.
      const first = await Promise.race([quiet.then(() => 'the quiet one'), isOvertaken])
      expect(first).toBe('the quiet one')
      clock.goOn()
      end()
      await all
    })

    test('H38: slow handlers that write have their turn while quick events keep coming', async () => {
      const { inbox, store, deliver: send } = await openInbox(underTest)
      const clock = moveClock()
      await storeMany(store, 'charge.slow', 4)
      let slow = 0
      const handle =
        (takesMs: number) =>
        async (event: { key: string }, { tx }: { tx: QueryTx }) => {
          await tx.query(WRITE, [event.key, ''])
          clock.forward(takesMs)
        }
      inbox.on('stripe', 'charge.slow', handle(SLOW_MS))
      inbox.on('stripe', 'invoice.paid', handle(10))
      const slowDone = new Promise<void>((resolve) => {
        inbox.events.on('event.done', ({ type, key }) => {
          slow += type === 'charge.slow' ? 1 : 0
          if (slow === 4) return resolve()
          if (type === 'invoice.paid') void send(`${key}_`)
        })
      })
      await inbox.start()

      for (let chain = 0; chain < 4; chain += 1) void send(`evt_${chain}`)

      await slowDone
    })

    test('H37: a retry does not wait for a flood of retries of another type', async () => {
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
  source = 'stripe',
): Promise<readonly string[]> {
  const ids: string[] = []
  for (let from = 0; from < count; from += 500) {
    const drafts = Array.from({ length: Math.min(500, count - from) }, (_, n) => {
      const key = `${type}_${from + n}`
      return anEventDraft({ source, type, key, body: JSON.stringify({ id: key, type }) })
    })
    const recorded = await store.events.record(drafts, { deadlineMs: 60_000 })
    ids.push(...recorded.map(({ eventId }) => eventId))
  }
  return ids
}

/** They were running when their worker died, and are suspect of that. */
async function crashWith(
  store: InboxUnderTest['store'],
  eventIds: readonly string[],
): Promise<void> {
  const running = eventIds.map((eventId) => ({ eventId, attempt: 1 }))
  await store.workers.announce({ workerId: 'gone', slot: 0 }, running)
  await sweepOthers(store, { me: 'none of them' })
}

/** On its way to the writer of SQLite a delivery waits for nothing but turns of the event loop, and few of them. */
async function untilItWaits(): Promise<void> {
  for (let turns = 0; turns < 200; turns += 1) await turn()
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
