import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { attemptTimesContract } from './attempt-times.ts'
import { claimContract } from './claim.ts'
import { clocksContract } from './clocks.ts'
import { crashSweepContract } from './crash-sweep.ts'
import { eraseContract } from './erase.ts'
import { lanesContract } from './lanes.ts'
import { leasesContract } from './leases.ts'
import { messageTransitionsContract } from './message-transitions.ts'
import { migrateContract } from './migrate.ts'
import { outboxLanesContract } from './outbox-lanes.ts'
import { readingsContract } from './readings.ts'
import { conformanceContract } from './conformance.ts'
import { recordBytesContract } from './record-bytes.ts'
import { recordOrderContract } from './record-order.ts'
import { recordRequestsContract } from './record-requests.ts'
import { retentionContract } from './retention.ts'
import { settleContract } from './settle.ts'
import { stepsContract } from './steps.ts'
import { tokensContract } from './tokens.ts'
import { transitionsContract } from './transitions.ts'
import { unauditedContract } from './unaudited.ts'

/**
 * All that a store must do, and what ours do beyond it: forms of SQL, and tables looked at from outside. Run by
 * `test/store/contract/<store>.test.ts`.
 */
export function everyContract(store: StoreUnderTest): void {
  conformanceContract(store)
  recordBytesContract(store)
  recordRequestsContract(store)
  recordOrderContract(store)
  claimContract(store)
  settleContract(store)
  attemptTimesContract(store)
  crashSweepContract(store)
  lanesContract(store)
  leasesContract(store)
  clocksContract(store)
  stepsContract(store)
  transitionsContract(store)
  tokensContract(store)
  readingsContract(store)
  unauditedContract(store)
  outboxLanesContract(store)
  messageTransitionsContract(store)
  retentionContract(store)
  eraseContract(store)
  migrateContract(store)
}
