import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { attemptTimesContract } from './attempt-times.ts'
import { claimContract } from './claim.ts'
import { clocksContract } from './clocks.ts'
import { crashSweepContract } from './crash-sweep.ts'
import { actionRacesContract } from './action-races.ts'
import { eventActionsContract } from './event-actions.ts'
import { eraseContract } from './erase.ts'
import { lanePausesContract } from './lane-pauses.ts'
import { lanesContract } from './lanes.ts'
import { leasesContract } from './leases.ts'
import { messageTransitionsContract } from './message-transitions.ts'
import { migrateContract } from './migrate.ts'
import { operatorsContract } from './operators.ts'
import { outboxClaimContract } from './outbox-claim.ts'
import { outboxEnqueueContract } from './outbox-enqueue.ts'
import { outboxOperatorsContract } from './outbox-operators.ts'
import { readingsContract } from './readings.ts'
import { recordContract } from './record.ts'
import { recordOrderContract } from './record-order.ts'
import { retentionContract } from './retention.ts'
import { secretUsesContract } from './secret-uses.ts'
import { settleContract } from './settle.ts'
import { settleLeasedContract } from './settle-leased.ts'
import { stepsContract } from './steps.ts'
import { tokensContract } from './tokens.ts'
import { transitionsContract } from './transitions.ts'
import { unhandledContract } from './unhandled.ts'

/** All that a store must do. Run by `test/contract/<store>.test.ts`. */
export function everyContract(store: StoreUnderTest): void {
  recordContract(store)
  recordOrderContract(store)
  claimContract(store)
  settleContract(store)
  attemptTimesContract(store)
  crashSweepContract(store)
  lanesContract(store)
  lanePausesContract(store)
  leasesContract(store)
  settleLeasedContract(store)
  clocksContract(store)
  stepsContract(store)
  unhandledContract(store)
  transitionsContract(store)
  operatorsContract(store)
  secretUsesContract(store)
  tokensContract(store)
  readingsContract(store)
  eventActionsContract(store)
  actionRacesContract(store)
  outboxEnqueueContract(store)
  outboxClaimContract(store)
  outboxOperatorsContract(store)
  messageTransitionsContract(store)
  retentionContract(store)
  eraseContract(store)
  migrateContract(store)
}
