import { describe, expect, test } from 'vitest'
import { createOperator } from '../../src/admin/create-operator.ts'
import { until } from '../support/faults/until.ts'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest, TestInbox } from '../support/inbox-under-test.ts'
import { WRITE } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What is paused does not run, in any process, and goes on when it is resumed. Run by `test/inbox/<store>.test.ts`. */
export function pausesContract(store: StoreUnderTest): void {
  describe(`${store.name}: a pause`, () => {
    test.each([
      ['source', { source: 'stripe' }],
      ['handler', { handler: 'charge' }],
    ] as const)(
      'of a %s keeps its events ready, in every process, until it is resumed',
      async (_, target) => {
        const opened = await openInbox(store)
        const { inbox, deliver, countEffects } = opened
        const other = opened.another()
        for (const each of [inbox, other]) register(each)
        expect(await inbox.admin.pause(target, { reason: 'the bank is down' })).toEqual({
          status: 'done',
        })
        await Promise.all([inbox.start(), other.start()])

        const delivered = await Promise.all(['a', 'b', 'c'].map((key) => deliver(key)))
        await runAround(opened, [inbox, other])

        expect(delivered.map(({ outcome }) => outcome)).toEqual([
          'accepted',
          'accepted',
          'accepted',
        ])
        expect(await countEffects()).toBe(0)
        for (const { eventId } of delivered)
          expect(await inbox.admin.findEvent(eventId as string)).toMatchObject({ state: 'ready' })
        expect(await other.admin.listPauses()).toMatchObject([{ reason: 'the bank is down' }])
        expect(await other.admin.pause(target)).toMatchObject({ code: 'PAUSED' })

        expect(await other.admin.resume(target)).toEqual({ status: 'done' })
        await until('all have run', async () => (await countEffects()) === 3)
      },
    )

    test('of a source that comes while workers run reaches those of other processes', async () => {
      const opened = await openInbox(store)
      const { inbox, deliver } = opened
      const other = opened.another({ worker: false })
      register(inbox)
      await inbox.start()

      await other.admin.pause({ source: 'stripe' })

      // Until the worker has heard of it, an event may still run.
      let kept = ''
      await until('an event stays ready', async () => {
        kept = (await deliver(`evt_${performance.now()}`)).eventId as string
        await runAround(opened, [inbox])
        await runAround(opened, [inbox])
        return (await inbox.admin.findEvent(kept))?.state === 'ready'
      })
      await runAround(opened, [inbox])
      expect(await inbox.admin.findEvent(kept)).toMatchObject({ state: 'ready' })
      const done = untilDone(inbox, 1)
      await other.admin.resume({ source: 'stripe' })
      await done
    })

    test('of a step handler keeps its events from being leased', async () => {
      const opened = await openInbox(store)
      const { inbox, deliver, countEffects } = opened
      inbox.steps('stripe', 'invoice.paid', { name: 'charge' }, async (event, step) => {
        await step.tx('write', async (tx) => {
          await tx.query(WRITE, [event.key, 'charged'])
        })
      })
      inbox.on('pings', '*', { name: 'pings' }, () => undefined)
      await inbox.admin.pause({ handler: 'charge' })
      await inbox.start()
      await deliver('evt_1')

      await runAround(opened, [inbox])

      expect(await countEffects()).toBe(0)
      const done = untilDone(inbox, 1)
      await inbox.admin.resume({ handler: 'charge' })
      await done
      expect(await countEffects()).toBe(1)
    })
  })

  describe(`${store.name}: createOperator`, () => {
    test('acts on a store alone, with neither sources nor handlers, and a worker elsewhere runs it', async () => {
      const { inbox, database, deliverUntil, next } = await openInbox(store)
      register(inbox)
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      const done = next('event.done')
      const operator = createOperator({ store: database.newStore() })

      const replayed = await operator.replay(eventId, { reason: 'lost rows', actor: 'ada' })
      await done

      expect(replayed).toEqual({ status: 'done', eventId, run: 1, state: 'ready' })
      expect(await operator.listAudit({ eventId })).toMatchObject([{ actor: 'ada' }])
      expect(Object.keys(operator).sort()).toEqual([...Object.keys(inbox.admin), 'close'].sort())
      await operator.close()
      await expect(operator.findEvent(eventId)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    })

    test('has a store of its own, since it closes it', async () => {
      const { database } = await openInbox(store)
      const own = database.newStore()
      createOperator({ store: own })

      expect(() => createOperator({ store: own })).toThrow(/a store of its own/)
      expect(() => createOperator({} as never)).toThrow(/createOperator\.store/)
      expect(() => createOperator({ store: own, sources: {} } as never)).toThrow(/sources/)
    })
  })
}

function register(inbox: TestInbox): void {
  inbox.on('stripe', 'invoice.paid', { name: 'charge' }, async (event, { tx }) => {
    await tx.query(WRITE, [event.key, 'charged'])
  })
  inbox.on('pings', '*', { name: 'pings' }, () => undefined)
}

/** Every worker has had something else to do meanwhile: some of it for each, one after the other. */
async function runAround(
  { deliverBytes }: InboxUnderTest,
  inboxes: readonly TestInbox[],
): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const done = Promise.race(inboxes.map((inbox) => untilDone(inbox, 1)))
    await deliverBytes(`ping_${performance.now()}`, '{}')
    await done
  }
}
