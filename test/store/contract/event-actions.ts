import { describe, expect, test } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { eitherWay } from '../../support/step-handlers.ts'
import { act, done, recordOne, runOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

/** What an operator's action is worth without its row in the audit. The other cases are in the conformance suite. */
export function eventActionsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: actions on events`, () => {
    test('D15: an action that cannot be written to the audit does not happen', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const eventId = await runOne(store, done)
      await eitherWay(
        database.query,
        'alter table hookonce.audit rename to elsewhere',
        'alter table hookonce_audit rename to elsewhere',
      )

      await expect(act(store, 'replay', eventId)).rejects.toThrow()

      expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'done' })
      expect(await store.operators.listRuns(eventId)).toEqual([])
    })
  })
}
