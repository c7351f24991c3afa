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
  StepsStore,
  StepTransaction,
} from '../contract/steps.ts'
import type { SqliteTx } from './lent-tx.ts'
import { SqliteOutbox } from './outbox.ts'
import { SqliteStepTransaction } from './step-transaction.ts'
import { hasLeasable, hasOldLeases, leaseDue, releaseForgotten } from './sql/lease-events.ts'
import { listSteps, resolveStep } from './sql/list-steps.ts'
import { settleLeased } from './sql/settle-leased.ts'
import { holdsLease, writeCalls } from './sql/write-calls.ts'

/** The part of the store that keeps leases and steps. */
export class SqliteSteps extends SqliteOutbox implements StepsStore<SqliteTx> {
  protected step: SqliteStepTransaction | undefined

  /**
   * Not synced by itself: should the machine lose power, the lease is gone, and so is every worker that could
   * have held it; and the first durable write under it takes it along.
   */
  async leaseDue(request: LeaseRequest): Promise<readonly LeasedEvent[]> {
    if (!(await this.connections.read(hasLeasable))) return []
    return this.connections.write('lazily', (connection) => leaseDue(connection, request))
  }

  async releaseForgotten(workerId: string, known: readonly number[]): Promise<number> {
    if (!(await this.connections.read((reader) => hasOldLeases(reader, workerId)))) return 0
    return this.connections.write('lazily', (connection) =>
      releaseForgotten(connection, workerId, known),
    )
  }

  listSteps(eventId: EventId, run?: number): Promise<readonly StepRecord[]> {
    return this.connections.read((reader) => listSteps(reader, eventId, run))
  }

  async writeCalls(entries: readonly CallEntry[]): Promise<readonly (CallWritten | undefined)[]> {
    if (entries.length === 0) return []
    return this.connections.write('durably', (connection, breaks) =>
      writeCalls(connection, breaks, entries),
    )
  }

  async openSteps(
    steps: readonly OpenStep[],
    limits: StepLimits,
  ): Promise<StepTransaction<SqliteTx> | undefined> {
    const { writer, deadline } = this.connections.getWriter()
    const turn = await writer.acquire(deadline)
    try {
      await turn.begin(deadline)
      const held = steps.map(({ lease }) => holdsLease(turn.connection, lease))
      if (held.includes(true)) {
        const onEnd = () => (this.step = undefined)
        this.step = new SqliteStepTransaction({ turn, steps, held, limits, onEnd })
        return this.step
      }
      turn.release()
      return undefined
    } catch (error) {
      turn.release()
      throw error
    }
  }

  async settleLeased(settlements: readonly LeasedSettlement[]): Promise<readonly boolean[]> {
    if (settlements.length === 0) return []
    return this.connections.write('durably', (connection, breaks) =>
      settleLeased(connection, breaks, settlements),
    )
  }

  resolveStep(resolution: StepResolution): Promise<boolean> {
    return this.connections.write('durably', (connection) => resolveStep(connection, resolution))
  }
}
