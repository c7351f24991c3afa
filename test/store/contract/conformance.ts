import { describe, test } from 'vitest'
import { storeConformance } from '../../../src/testing/store/index.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { openConformance } from '../../support/open-conformance.ts'

/** What every store must do, ours and those of others: the suite that authors of stores run. */
export function conformanceContract(underTest: StoreUnderTest): void {
  const cases = storeConformance({
    openDatabase: () => openConformance(underTest),
    hasOneWriter: !underTest.capabilities.parallelGroups,
  })
  describe(underTest.name, () => {
    for (const { name, run } of cases) test(name, run)
  })
}
