import type { StoreUnderTest } from '../support/store-under-test.ts'
import { afterContract } from './after.ts'
import { bulkLanesContract } from './bulk-lanes.ts'
import { deadlinesContract } from './deadlines.ts'
import { fetchContract } from './fetch.ts'
import { fifoContract } from './fifo.ts'
import { latestContract } from './latest.ts'
import { replayOrderedContract } from './replay-ordered.ts'
import { sequenceContract } from './sequence.ts'
import { sourceOrderContract } from './source-order.ts'

/** What each order promises, on every store. Run by `test/inbox/ordering-<store>.test.ts`. */
export function orderingContract(store: StoreUnderTest): void {
  fifoContract(store)
  sequenceContract(store)
  latestContract(store)
  afterContract(store)
  deadlinesContract(store)
  fetchContract(store)
  replayOrderedContract(store)
  bulkLanesContract(store)
  sourceOrderContract(store)
}
