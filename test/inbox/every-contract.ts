import type { StoreUnderTest } from '../support/store-under-test.ts'
import { fairnessContract } from './fairness.ts'
import { backfillContract } from './backfill.ts'
import { eventCopiesContract } from './event-copies.ts'
import { failuresContract } from './failures.ts'
import { oddEndsContract } from './odd-ends.ts'
import { operatorsContract } from './operators.ts'
import { orderValuesContract } from './order-values.ts'
import { outboxContract } from './outbox.ts'
import { receiveContract } from './receive.ts'
import { savepointsContract } from './savepoints.ts'
import { stepRulesContract } from './step-rules.ts'
import { stepsContract } from './steps.ts'
import { trappingObjectsContract } from './trapping-objects.ts'
import { workContract } from './work.ts'
import { writesContract } from './writes.ts'

/** All that an inbox must do on a store. Run by `test/inbox/<store>.test.ts`. */
export function everyContract(store: StoreUnderTest): void {
  receiveContract(store)
  backfillContract(store)
  orderValuesContract(store)
  workContract(store)
  fairnessContract(store)
  eventCopiesContract(store)
  oddEndsContract(store)
  trappingObjectsContract(store)
  failuresContract(store)
  writesContract(store)
  operatorsContract(store)
  savepointsContract(store)
  outboxContract(store)
  stepsContract(store)
  stepRulesContract(store)
}
