import { describe, expect, test, vi } from 'vitest'
import { anEventDraft } from '../../support/builders.ts'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { claim, DEADLINE_MS, done, recordOne } from '../../support/store-steps.ts'
import { lentTransactionContract } from './lent-transaction.ts'
import { lentWritesContract } from './lent-writes.ts'
import { savepointsContract } from './savepoints.ts'

const OTHER_SLOT = { workerId: 'worker-2', slot: 0 }

/** What every store must do when a worker asks for work, and with the transaction it lends. */
export function claimContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: claim`, () => {
    test('a group left idle is ended, and its events are given back', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      await recordOne(store, anEventDraft())
      const group = await claim(store, { idleTimeoutMs: 1 })

      const again = await vi.waitFor(() => claim(other, { slot: OTHER_SLOT }), {
        timeout: DEADLINE_MS,
      })

      await expect(group.settle(group.events.map(done))).rejects.toThrow()
      // Not `ended`, which would blame the handler and stop its event for good.
      expect(group.status()).toBe('lost')
      expect((await group.commit()).status).not.toBe('committed')
      await group.abandon()
      expect(again.events).toHaveLength(1)
      await again.abandon()
    })
  })

  lentTransactionContract(underTest)
  lentWritesContract(underTest)
  savepointsContract(underTest)
  if (underTest.capabilities.opensLate) {
    lentTransactionContract(underTest, { opensLate: true })
    lentWritesContract(underTest, { opensLate: true })
    savepointsContract(underTest, { opensLate: true })
  }
}
