import type { StepStore } from '../contract/steps.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { SqliteStepTransaction } from './step-transaction.ts'
import { hasLeasable, hasOldLeases, leaseDue, giveBackForgotten } from './sql/lease-events.ts'
import { listSteps, resolveStep } from './sql/list-steps.ts'
import { settleLeased } from './sql/settle-leased.ts'
import { holdsLease, writeCalls } from './sql/write-calls.ts'
import type { SqliteTx } from './tx.ts'

/** The part of the store that keeps leases and steps. */
export function createSteps(connections: Connections, held: HeldTransactions): StepStore<SqliteTx> {
  return {
    /**
     * Not synced by itself: should the machine lose power, the lease is gone, and so is every worker that could
     * have held it; and the first durable write under it takes it along.
     */
    lease: async (request) => {
      if (!(await connections.read(hasLeasable))) return []
      return connections.write('lazily', (connection) => leaseDue(connection, request))
    },
    giveBackForgotten: async (workerId, known) => {
      if (!(await connections.read((reader) => hasOldLeases(reader, workerId)))) return 0
      return connections.write('lazily', (connection) =>
        giveBackForgotten(connection, workerId, known),
      )
    },
    list: (eventId, run) => connections.read((reader) => listSteps(reader, eventId, run)),
    writeCalls: async (entries) => {
      if (entries.length === 0) return []
      return connections.write('durably', (connection, breaks) =>
        writeCalls(connection, breaks, entries),
      )
    },
    open: (...asked) => open(connections, held, ...asked),
    settle: async (settlements) => {
      if (settlements.length === 0) return []
      return connections.write('durably', (connection, breaks) =>
        settleLeased(connection, breaks, settlements),
      )
    },
    resolve: (resolution, order) =>
      connections.write('durably', (connection) => resolveStep(connection, resolution, order)),
  }
}

async function open(
  connections: Connections,
  held: HeldTransactions,
  ...[steps, { idleTimeoutMs }]: Parameters<StepStore<SqliteTx>['open']>
): ReturnType<StepStore<SqliteTx>['open']> {
  const { writer, deadline } = connections.getWriter()
  const holders = steps.map(({ handler }) => handler)
  const turn = await writer.acquire(deadline, () => held.findSlowMs(holders))
  try {
    await turn.begin(deadline)
    const holds = steps.map(({ lease }) => holdsLease(turn.connection, lease))
    if (holds.includes(true)) {
      const isAlone = steps.length === 1
      const transaction = held.holdSteps(holders, { writer, isAlone, idleTimeoutMs }, turn)
      return new SqliteStepTransaction(steps, holds, transaction)
    }
    turn.giveBack()
    return undefined
  } catch (error) {
    turn.giveBack()
    throw error
  }
}
