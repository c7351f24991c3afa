import type { EventId } from '../../model/event.ts'
import type { StepRecord } from '../../model/step.ts'
import type {
  CallEntry,
  CallWritten,
  LeasedEvent,
  LeasedSettlement,
  LeaseRequest,
  OpenStep,
  StepLimits,
  StepResolution,
  StepStore,
  StepTransaction,
} from '../contract/steps.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import type { SqliteTx } from './lent-tx.ts'
import { SqliteStepTransaction } from './step-transaction.ts'
import { hasLeasable, hasOldLeases, leaseDue, releaseForgotten } from './sql/lease-events.ts'
import { listSteps, resolveStep } from './sql/list-steps.ts'
import { settleLeased } from './sql/settle-leased.ts'
import { holdsLease, writeCalls } from './sql/write-calls.ts'

/** The part of the store that keeps leases and steps. */
export class SqliteSteps implements StepStore<SqliteTx> {
  readonly #connections: Connections
  readonly #held: HeldTransactions

  constructor(connections: Connections, held: HeldTransactions) {
    this.#connections = connections
    this.#held = held
  }

  /**
   * Not synced by itself: should the machine lose power, the lease is gone, and so is everybody who could
   * have held it; and the first durable write under it takes it along.
   */
  async lease(request: LeaseRequest): Promise<readonly LeasedEvent[]> {
    if (!(await this.#connections.read(hasLeasable))) return []
    return this.#connections.write('lazily', (connection) => leaseDue(connection, request))
  }

  async releaseForgotten(workerId: string, known: readonly number[]): Promise<number> {
    if (!(await this.#connections.read((reader) => hasOldLeases(reader, workerId)))) return 0
    return this.#connections.write('lazily', (connection) =>
      releaseForgotten(connection, workerId, known),
    )
  }

  list(eventId: EventId, run?: number): Promise<readonly StepRecord[]> {
    return this.#connections.read((reader) => listSteps(reader, eventId, run))
  }

  async writeCalls(entries: readonly CallEntry[]): Promise<readonly (CallWritten | undefined)[]> {
    if (entries.length === 0) return []
    return this.#connections.write('durably', (connection, breaks) =>
      writeCalls(connection, breaks, entries),
    )
  }

  async open(
    steps: readonly OpenStep[],
    limits: StepLimits,
  ): Promise<StepTransaction<SqliteTx> | undefined> {
    const { writer, deadline } = this.#connections.getWriter()
    const turn = await writer.acquire(deadline)
    try {
      await turn.begin(deadline)
      const held = steps.map(({ lease }) => holdsLease(turn.connection, lease))
      if (held.includes(true)) {
        const { idleTimeoutMs } = limits
        const isAlone = steps.length === 1
        const transaction = this.#held.holdSteps({ writer, isAlone, idleTimeoutMs }, turn)
        return new SqliteStepTransaction(steps, held, transaction)
      }
      turn.release()
      return undefined
    } catch (error) {
      turn.release()
      throw error
    }
  }

  async settle(settlements: readonly LeasedSettlement[]): Promise<readonly boolean[]> {
    if (settlements.length === 0) return []
    return this.#connections.write('durably', (connection, breaks) =>
      settleLeased(connection, breaks, settlements),
    )
  }

  resolve(resolution: StepResolution): Promise<boolean> {
    return this.#connections.write('durably', (connection) => resolveStep(connection, resolution))
  }
}
