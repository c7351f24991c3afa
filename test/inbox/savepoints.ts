import { describe, expect, test } from 'vitest'
import { openInbox } from '../support/inbox-under-test.ts'
import type { TestInbox } from '../support/inbox-under-test.ts'
import type { QueryTx, StoreUnderTest } from '../support/store-under-test.ts'

const EFFECT = 'insert into effects (event_key, note) values ($1, $2)'

/** Savepoints of handlers, written with `on` and with `steps`. Run by `test/inbox/<store>.test.ts`. */
export function savepointsContract(store: StoreUnderTest): void {
  describe.each(['on', 'steps'] as const)(`${store.name}: a handler of %s`, (method) => {
    function register(inbox: TestInbox, work: (tx: QueryTx, key: string) => Promise<unknown>) {
      const retry = { firstMs: 0, attemptsMax: 2 }
      if (method === 'on') {
        inbox.on('stripe', 'invoice.paid', { retry }, async ({ key }, { tx }) => {
          await work(tx, key)
        })
      } else {
        inbox.steps('stripe', 'invoice.paid', { retry }, async ({ key }, step) => {
          await step.tx('work', async (tx) => {
            await work(tx, key)
          })
        })
      }
    }

    test('can try something, and do something else where it fails', async () => {
      const { inbox, deliverUntil, database } = await openInbox(store)
      register(inbox, async (tx, key) => {
        await tx.query(EFFECT, [key, 'before'])
        await tx
          .savepoint(async () => {
            await tx.query(EFFECT, [key, 'tried'])
            await tx.query('insert into no_such_table values (1)')
          })
          .catch(async () => tx.query(EFFECT, [key, 'instead']))
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.done')

      expect(await database.query('select note from effects order by note')).toEqual([
        { note: 'before' },
        { note: 'instead' },
      ])
      expect((await inbox.admin.findEvent(eventId))?.failures).toEqual([])
    })

    test('fails when it returns before its savepoint has ended, and nothing of it is kept', async () => {
      const { inbox, deliverUntil, countEffects } = await openInbox(store)
      register(inbox, async (tx, key) => {
        await tx.query(EFFECT, [key, 'before'])
        void tx
          .savepoint(async () => {
            await tx.query(EFFECT, [key, 'inside'])
            await new Promise(() => undefined)
          })
          .catch(() => undefined)
      })
      await inbox.start()

      const { eventId } = await deliverUntil('evt_1', 'event.dead')

      expect((await inbox.admin.findEvent(eventId))?.reason).toContain('Is an await missing?')
      expect(await countEffects()).toBe(0)
    })
  })
}
