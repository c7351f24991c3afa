import type { StoreUnderTest } from '../support/store-under-test.ts'
import { afterContract } from './after.ts'
import { fetchContract } from './fetch.ts'
import { fifoContract } from './fifo.ts'
import { latestContract } from './latest.ts'
import { sequenceContract } from './sequence.ts'

/** What each order promises, on every store. Run by `test/inbox/ordering-<store>.test.ts`. */
export function orderingContract(store: StoreUnderTest): void {
  fifoContract(store)
  sequenceContract(store)
  latestContract(store)
  afterContract(store)
  fetchContract(store)
}
