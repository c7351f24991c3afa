import type { StoreUnderTest } from '../support/store-under-test.ts'
import { fairnessContract } from './fairness.ts'
import { groupBudgetContract } from './group-budget.ts'
import { backfillContract } from './backfill.ts'
import { backfillOverHttpContract } from './backfill-over-http.ts'
import { bothKindsContract } from './both-kinds.ts'
import { eventCopiesContract } from './event-copies.ts'
import { failuresContract } from './failures.ts'
import { forgetContract } from './forget.ts'
import { interruptedNeighboursContract } from './interrupted-neighbours.ts'
import { messageActionsContract } from './message-actions.ts'
import { oddEndsContract } from './odd-ends.ts'
import { operatorsContract } from './operators.ts'
import { orderValuesContract } from './order-values.ts'
import { outboxContract } from './outbox.ts'
import { pausesContract } from './pauses.ts'
import { receiveContract } from './receive.ts'
import { reconcileContract } from './reconcile.ts'
import { redeliveredContract } from './redelivered.ts'
import { replayContract } from './replay.ts'
import { retentionContract } from './retention.ts'
import { runDueContract } from './run-due.ts'
import { savepointsContract } from './savepoints.ts'
import { secretsContract } from './secrets.ts'
import { stepRulesContract } from './step-rules.ts'
import { stepsContract } from './steps.ts'
import { trappingObjectsContract } from './trapping-objects.ts'
import { unfinishedContract } from './unfinished.ts'
import { workContract } from './work.ts'
import { weightsContract } from './weights.ts'
import { writesContract } from './writes.ts'

/** All that an inbox must do on a store. Run by `test/inbox/<store>.test.ts`. */
export function everyContract(store: StoreUnderTest): void {
  receiveContract(store)
  backfillContract(store)
  backfillOverHttpContract(store)
  redeliveredContract(store)
  secretsContract(store)
  reconcileContract(store)
  unfinishedContract(store)
  orderValuesContract(store)
  workContract(store)
  interruptedNeighboursContract(store)
  runDueContract(store)
  fairnessContract(store)
  groupBudgetContract(store)
  weightsContract(store)
  eventCopiesContract(store)
  oddEndsContract(store)
  trappingObjectsContract(store)
  failuresContract(store)
  writesContract(store)
  operatorsContract(store)
  forgetContract(store)
  replayContract(store)
  bothKindsContract(store)
  pausesContract(store)
  retentionContract(store)
  savepointsContract(store)
  outboxContract(store)
  messageActionsContract(store)
  stepsContract(store)
  stepRulesContract(store)
}
