import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'

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
  })
}
