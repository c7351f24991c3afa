import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { sort } from '../../support/lane-steps.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'

/** Each abandons it some turns of the event loop later than the one before: in the middle of another statement. */
const ROUNDS = 12

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** What every store must do when an attempt has come to its end. */
export function settleContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: settle`, () => {
    test('a refused commit keeps nothing, and says why', async () => {
      const { database, store } = await openStore(underTest)
      const { eventId } = await recordOne(store, anEventDraft())
      await database.query('create table parents (id integer primary key)')
      await database.query(
        'create table children (parent integer references parents (id) deferrable initially deferred)',
      )
      const group = await claim(store)
      await group.lend().tx.query('insert into children (parent) values (404)')
      await group.settle(group.events.map(done))

      const result = await group.commit()

      expect(result).toMatchObject({ status: 'refused', error: expect.any(Error) })
      expect(await store.operators.findEvent(eventId)).toMatchObject({
        state: 'ready',
        outcome: undefined,
      })
      expect(await database.query('select parent from children')).toEqual([])
    })

    test('what is abandoned while it is settled keeps nothing, neither writes nor outcomes', async () => {
      const { store, createEffects, countEffects } = await openStore(underTest)
      await createEffects()
      const ids: string[] = []
      for (let nth = 0; nth < ROUNDS; nth += 1) {
        const { eventId } = await recordOne(store, anEventDraft({ key: `evt_${nth}` }))
        await sort(store)
        const group = await claim(store, { kind: 'head' })
        await group.lend().tx.query(`insert into effects values ($1, 'ran')`, [eventId])

        // As when a worker is stopped whose time is over: whatever is sent then must be in the transaction, or nowhere.
        const settling = group.settle(group.events.map(done)).catch(() => undefined)
        for (let turn = 0; turn < nth; turn += 1) await nextTurn()
        await Promise.all([group.abandon(), settling])
        ids.push(eventId)
      }

      expect(await countEffects()).toBe(0)
      for (const id of ids)
        expect(await store.operators.findEvent(id)).toMatchObject({ outcome: undefined })
    })
  })
}
