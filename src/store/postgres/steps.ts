import type { StepStore } from '../contract/steps.ts'
import { atMostOnce } from './act-on-event.ts'
import { rollBack } from './connection.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { isEventId } from './is-event-id.ts'
import { lockNumber } from './lock-number.ts'
import { PostgresStepTransaction } from './step-transaction.ts'
import { asStoreError } from './store-error.ts'
import { leaseDue, giveBackForgotten } from './sql/lease-events.ts'
import { listSteps, resolveStep } from './sql/list-steps.ts'
import { openSteps, readOpened } from './sql/open-steps.ts'
import { settleLeased } from './sql/settle-leased.ts'
import { writeCalls } from './sql/write-calls.ts'
import type { PostgresTx } from './tx.ts'

/** The part of the store that keeps leases and steps. */
export function createSteps(
  schema: string,
  connections: Connections,
  held: HeldTransactions,
): StepStore<PostgresTx> {
  const suspectLock = lockNumber(schema, 'suspect')
  return {
    lease: (request) => leaseDue(connections, request, suspectLock),
    giveBackForgotten: (workerId, known) =>
      connections.transactOnControl((connection) => giveBackForgotten(connection, workerId, known)),
    list: async (eventId, run) =>
      isEventId(eventId)
        ? connections.use((connection) => listSteps(connection, eventId, run))
        : [],
    writeCalls: async (entries) => (entries.length === 0 ? [] : writeCalls(connections, entries)),
    open: (...asked) => open(held, ...asked),
    settle: async (settlements) =>
      settlements.length === 0 ? [] : settleLeased(connections, settlements),
    resolve: async (resolution, order) =>
      isEventId(resolution.eventId)
        ? atMostOnce(() =>
            connections.transact((connection) => resolveStep(connection, resolution, order)),
          )
        : { status: 'refused', code: 'STEP_CERTAIN' },
  }
}

async function open(
  held: HeldTransactions,
  ...[steps, limits]: Parameters<StepStore<PostgresTx>['open']>
): ReturnType<StepStore<PostgresTx>['open']> {
  const connection = await held.checkOut()
  try {
    const settings = { statementTimeoutMs: 0, ...limits }
    const { watch, opened } = await held.watcher.begin(connection, settings, openSteps(steps))
    const found = readOpened(steps, opened?.rows ?? [])
    if (found !== undefined) {
      const { pid, xid } = found
      const transaction = held.hold({ connection, pid, xid, watch, isAlone: steps.length === 1 })
      return new PostgresStepTransaction(steps, found.held, transaction)
    }
  } catch (error) {
    await rollBack(connection)
    throw asStoreError(error)
  }
  await rollBack(connection)
  return undefined
}
