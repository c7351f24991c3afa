import { actionRaceCases } from './cases/action-races.ts'
import { bulkCases } from './cases/bulks.ts'
import { claimCases } from './cases/claim.ts'
import { countCases } from './cases/counts.ts'
import { crashCases } from './cases/crash-sweep.ts'
import { eventActionCases } from './cases/event-actions.ts'
import { eventRunCases } from './cases/event-runs.ts'
import { fullLaneCases } from './cases/full-lanes.ts'
import { laneCases } from './cases/lanes.ts'
import { laneDeadlineCases } from './cases/lane-deadlines.ts'
import { lanePauseCases } from './cases/lane-pauses.ts'
import { leaseCases } from './cases/leases.ts'
import { lentTransactionCases } from './cases/lent-transaction.ts'
import { messageCases } from './cases/messages.ts'
import { messageOperatorCases } from './cases/message-operators.ts'
import { onceCases } from './cases/once.ts'
import { operatorCases } from './cases/operators.ts'
import { pausedHeadCases } from './cases/paused-heads.ts'
import { readingCases } from './cases/readings.ts'
import { recordCases } from './cases/record.ts'
import { recordSignedCases } from './cases/record-signed.ts'
import { recordVariantCases } from './cases/record-variants.ts'
import { retentionCases } from './cases/retention.ts'
import { secretUseCases } from './cases/secret-uses.ts'
import { settleCases } from './cases/settle.ts'
import { settleLeasedCases } from './cases/settle-leased.ts'
import { stepCases } from './cases/steps.ts'
import { unhandledCases } from './cases/unhandled.ts'
import type { StoreCase } from './store-case.ts'

/** All that a store must do, in the order of the life of an event. */
export const EVERY_CASE: readonly StoreCase[] = [
  ...recordCases,
  ...recordVariantCases,
  ...recordSignedCases,
  ...claimCases,
  ...lentTransactionCases,
  ...settleCases,
  ...crashCases,
  ...leaseCases,
  ...settleLeasedCases,
  ...stepCases,
  ...unhandledCases,
  ...laneCases,
  ...fullLaneCases,
  ...laneDeadlineCases,
  ...lanePauseCases,
  ...pausedHeadCases,
  ...messageCases,
  ...messageOperatorCases,
  ...onceCases,
  ...operatorCases,
  ...secretUseCases,
  ...eventActionCases,
  ...eventRunCases,
  ...actionRaceCases,
  ...bulkCases,
  ...readingCases,
  ...countCases,
  ...retentionCases,
]
