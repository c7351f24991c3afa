import { describe, expect, test } from 'vitest'
import type { CallEntry } from '../../../src/store/contract/steps.ts'
import { anEventDraft } from '../../support/builders.ts'
import { aCall, leaseOne } from '../../support/lease-steps.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { recordOne } from '../../support/store-steps.ts'

/** What every store must do with steps: keep them under the lease, and refuse them without. */
export function stepsContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: steps`, () => {
    test('how long a call is uncertain counts from its first start, and from anew once it is known not to have happened', async () => {
      const { store, database } = await openStore(underTest)
      await recordOne(store, anEventDraft())
      const leased = await leaseOne(store)
      const age = async () => {
        await database
          .query(`update hookonce.steps set started_at = started_at - interval '1 hour'`)
          .catch(() =>
            database.query('update hookonce_steps set started_at = started_at - 3600000'),
          )
      }
      const uncertain = async (change: CallEntry['change']) =>
        (await store.steps.writeCalls([aCall(leased, { change })]))[0]?.uncertainForMs ?? Number.NaN
      await uncertain('started')
      await age()

      expect(await uncertain('started')).toBeGreaterThanOrEqual(3_600_000)
      expect(await uncertain('restarted')).toBeLessThan(3_600_000)
      await age()
      expect(await uncertain('refused')).toBeGreaterThanOrEqual(3_600_000)
      expect(await uncertain('started')).toBeLessThan(3_600_000)
    })
  })
}
