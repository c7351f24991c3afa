import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { destination } from '../../src/outbox/destination.ts'
import { stripe } from '../../src/providers/vendors/stripe.ts'
import type { Look } from '../../src/store/contract/queue.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { aSignal } from '../support/a-signal.ts'
import { until } from '../support/faults/until.ts'
import { deliver, openInbox, SECRET } from '../support/inbox-under-test.ts'
import type { InboxUnderTest, TestInbox } from '../support/inbox-under-test.ts'
import { WRITE } from '../support/step-handlers.ts'
import { openStore } from '../support/store-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

/** Long enough for a machine that is busy: a call returns when nothing is due. */
const BUDGET_MS = 60_000
const NOTHING = {
  done: 0,
  skipped: 0,
  failed: 0,
  dead: 0,
  messagesSent: 0,
  messagesFailed: 0,
  messagesLeft: 0,
  hasMore: false,
  nextDueInMs: undefined,
}

/** What a process does that lives only while it is called. Run by `test/inbox/<store>.test.ts`. */
export function runDueContract(store: StoreUnderTest): void {
  describe(`${store.name}: runDue`, () => {
    test('runs what another process has accepted, and says so; then there is nothing', async () => {
      const { inbox, another, countEffects } = await openInbox(store)
      const receiver = another({ worker: false })
      register(inbox)
      for (const key of ['a', 'b', 'c']) await deliver(receiver, key)

      expect(await inbox.runDue({ budgetMs: BUDGET_MS })).toEqual({ ...NOTHING, done: 3 })
      expect(await countEffects()).toBe(3)
      expect(await inbox.runDue({ budgetMs: BUDGET_MS })).toEqual(NOTHING)
    })

    test('runs what this process accepts by its Fetch handler, between the calls', async () => {
      const { inbox, deliver: accept, countEffects } = await openInbox(store)
      register(inbox)

      for (const key of ['a', 'b']) {
        await accept(key)
        expect(await inbox.runDue({ budgetMs: BUDGET_MS })).toMatchObject({ done: 1 })
      }
      expect(await countEffects()).toBe(2)
    })

    test('runs step handlers and lanes to their end', async () => {
      const { inbox, deliver: accept, countEffects } = await openInbox(store)
      inbox.steps('stripe', 'charge.*', async (event, step) => {
        const id = await step.call('ask', async () => 'an answer')
        await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, id])
        })
      })
      inbox.on(
        'stripe',
        'invoice.paid',
        { order: { mode: 'fifo', lane: () => 'one' } },
        (event, { tx }) => tx.write(WRITE, [event.key, 'in its lane']),
      )
      for (const key of ['a', 'b']) await accept(key, { type: 'charge.captured' })
      for (const key of ['c', 'd', 'e']) await accept(key)

      expect(await inbox.runDue({ budgetMs: BUDGET_MS })).toEqual({ ...NOTHING, done: 5 })
      expect(await countEffects()).toBe(5)
    })

    test('sends what its handlers and others have written', async () => {
      const sent: string[] = []
      const { inbox, another } = await openInbox(store, {
        destinations: [destination('mail', ({ key }) => void sent.push(key))],
      })
      const receiver = another({ worker: false })
      inbox.on('stripe', '*', (event, { send }) => send('mail', event.key).then(() => undefined))
      for (const key of ['a', 'b']) await deliver(receiver, key)

      const run = await inbox.runDue({ budgetMs: BUDGET_MS })

      expect(run).toMatchObject({ done: 2, messagesSent: 2, messagesFailed: 0, hasMore: false })
      expect(new Set(sent).size).toBe(2)
    })

    test('says when the next attempt is due', async () => {
      const { inbox, deliver: accept } = await openInbox(store)
      inbox.on('stripe', '*', { retry: { firstMs: 600_000 } }, () => {
        throw new Error('not today')
      })
      await accept('a')

      const run = await inbox.runDue({ budgetMs: BUDGET_MS })

      expect(run).toMatchObject({ failed: 1, hasMore: false })
      expect(run.nextDueInMs).toBeGreaterThan(0)
      expect(run.nextDueInMs).toBeLessThanOrEqual(1_200_000)
    })

    test('says so also where the attempt failed while the queue was looked at', async () => {
      const opened = await openStore(store)
      const { inbox, running, goOn, slowLooks } = createSlowLooker(opened.database.newStore())
      inbox.on('stripe', '*', { retry: { firstMs: 600_000 } }, async () => {
        running.give()
        await goOn.given
        throw new Error('not today')
      })
      await deliver(inbox, 'a')

      const run = await inbox.runDue({ budgetMs: BUDGET_MS })

      expect(slowLooks).toEqual([{ due: [], nextDueInMs: undefined, next: undefined }])
      expect(run).toMatchObject({ failed: 1, hasMore: false })
      expect(run.nextDueInMs).toBeGreaterThan(0)
    })

    test('gives an event back when the time is over, and the next call runs it without a lost attempt', async () => {
      const { inbox, deliver: accept, countEffects } = await openInbox(store)
      const attempts: number[] = []
      inbox.on('stripe', '*', async (event, { tx, attempt, signal }) => {
        await tx.query(WRITE, [event.key, 'done'])
        attempts.push(attempt)
        if (attempts.length === 1)
          await new Promise((_, reject) => signal.addEventListener('abort', reject))
      })
      await accept('a')

      // A busy machine may need the time of a call to come to the handler.
      let cut
      do cut = await inbox.runDue({ budgetMs: 1_000, graceMs: 0 })
      while (attempts.length === 0)
      expect(cut).toMatchObject({ done: 0, failed: 0, hasMore: true })
      expect(await countEffects()).toBe(0)

      expect(await inbox.runDue({ budgetMs: BUDGET_MS })).toMatchObject({ done: 1 })
      expect(attempts).toEqual([1, 1])
      expect(await countEffects()).toBe(1)
    })

    test('a call while another one is at work gets its result, and one after it works anew', async () => {
      const { inbox, deliver: accept, countEffects } = await openInbox(store)
      let goOn = (): void => undefined
      const gate = new Promise<void>((resolve) => (goOn = resolve))
      const running = new Promise<void>((resolve) =>
        inbox.on('stripe', '*', async (event, { tx }) => {
          await tx.query(WRITE, [event.key, 'done'])
          resolve()
          await gate
        }),
      )
      await accept('a')

      const first = inbox.runDue({ budgetMs: BUDGET_MS })
      await running
      const second = inbox.runDue({ budgetMs: BUDGET_MS })
      goOn()

      expect(await second).toEqual(await first)
      expect(await first).toMatchObject({ done: 1 })
      expect(await countEffects()).toBe(1)
    })

    test('C24: runs what a worker had that is dead, though it sees it only for moments', async () => {
      const opened = await openInbox(store, { worker: { deadAfterMs: 500, concurrency: 1 } })
      const { inbox, countEffects } = opened
      register(inbox)
      await opened.deliver('a')
      await leaveRunning(opened)

      expect(await inbox.runDue({ budgetMs: BUDGET_MS })).toMatchObject({ done: 1 })
      expect(await countEffects()).toBe(1)
    })

    test('counts an event as dead that a dead worker had for the last time', async () => {
      const worker = { deadAfterMs: 500, concurrency: 1, crashesMax: 1 }
      const opened = await openInbox(store, { worker })
      register(opened.inbox)
      await opened.deliver('a')
      await leaveRunning(opened)

      expect(await opened.inbox.runDue({ budgetMs: BUDGET_MS })).toEqual({ ...NOTHING, dead: 1 })
    })

    test('is refused on an inbox that was started or stopped, and with options that it does not know', async () => {
      const { inbox } = await openInbox(store)

      await expect(inbox.runDue({ budgetMs: 0 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
      await expect(inbox.runDue({ budgetMs: 1, graceMs: 2 })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
      await expect(inbox.runDue({ budget: 1 } as never)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
      await inbox.start()
      await expect(inbox.runDue({ budgetMs: 1 })).rejects.toMatchObject({ code: 'INBOX_STARTED' })
      await inbox.stop()
      await expect(inbox.runDue({ budgetMs: 1 })).rejects.toMatchObject({ code: 'INBOX_STOPPED' })
    })

    test('start() ends a call that is at work, and runs what it has given back', async () => {
      const { inbox, deliver: accept, countEffects, next } = await openInbox(store)
      let calls = 0
      const running = new Promise<void>((resolve) =>
        inbox.on('stripe', '*', async (event, { tx, signal }) => {
          await tx.query(WRITE, [event.key, 'done'])
          calls += 1
          resolve()
          if (calls === 1)
            await new Promise((_, reject) => signal.addEventListener('abort', reject))
        }),
      )
      await accept('a')
      const done = next('event.done')

      const run = inbox.runDue({ budgetMs: BUDGET_MS, graceMs: 0 })
      await running
      await inbox.start()

      expect(await run).toMatchObject({ done: 0, hasMore: true })
      await done
      await accept('b')
      await until('the other is done', async () => (await countEffects()) === 2)
    })

    test('stop() ends a call that is at work', async () => {
      const { inbox, deliver: accept, countEffects } = await openInbox(store)
      const running = new Promise<void>((resolve) =>
        inbox.on('stripe', '*', async (event, { tx, signal }) => {
          await tx.query(WRITE, [event.key, 'done'])
          resolve()
          await new Promise((_, reject) => signal.addEventListener('abort', reject))
        }),
      )
      await accept('a')

      const run = inbox.runDue({ budgetMs: BUDGET_MS, graceMs: 0 })
      await running
      await inbox.stop()

      expect(await run).toMatchObject({ done: 0, hasMore: true })
      expect(await countEffects()).toBe(0)
    })
  })
}

function register(inbox: TestInbox): void {
  inbox.on('stripe', '*', (event, { tx }) => tx.write(WRITE, [event.key, 'done']))
}

/** As a worker does that is killed while it runs the only event: its record lists the event, and its heart stands still. */
async function leaveRunning({ store, inbox }: InboxUnderTest): Promise<void> {
  const [event] = await inbox.admin.listEventsByKey('stripe', 'a')
  const workerId = '00000000-0000-4000-8000-000000000001'
  await store.workers.beat({ workerId, slots: 1, handles: [] })
  await store.workers.announce({ workerId, slot: 0 }, [{ eventId: event?.id ?? '', attempt: 1 }])
  await until('its heart has stood still for long', async () =>
    (await store.workers.listHearts()).every(({ stillMs }) => stillMs > 500),
  )
}

/**
 * An inbox one of whose looks at the queue is slow: it sees the event that runs, and is answered when that event has
 * ended and its slot has nothing more to do.
 */
function createSlowLooker(store: Store<QueryTx>) {
  const [running, rested, goOn] = [aSignal(), aSignal(), aSignal()]
  const { look } = store.queue
  const { announce } = store.workers
  const slowLooks: Look[] = []
  let looks = 0
  Object.assign(store.queue, {
    look: async (request: Parameters<typeof look>[0]) => {
      looks += 1
      // The first finds the event.
      if (looks !== 2) return look(request)
      await running.given
      const found = await look(request)
      goOn.give()
      await rested.given
      slowLooks.push(found)
      return found
    },
  })
  Object.assign(store.workers, {
    announce: async (...given: Parameters<typeof announce>) => {
      await announce(...given)
      if (given[1].length === 0) setImmediate(() => rested.give())
    },
  })
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [SECRET] }) },
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  })
  onTestFinished(() => inbox.stop())
  return { inbox, running, goOn, slowLooks }
}
