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
import { rollBack } from './connection.ts'
import type { Connections } from './connections.ts'
import type { PostgresTx } from './driver.ts'
import { HeldTransaction } from './held-transaction.ts'
import { isEventId } from './is-event-id.ts'
import { lockNumber } from './lock-number.ts'
import { PostgresOutbox } from './outbox.ts'
import { SessionWatcher } from './session-watch.ts'
import { PostgresStepTransaction } from './step-transaction.ts'
import { asStoreError } from './store-error.ts'
import { leaseDue, releaseForgotten } from './sql/lease-events.ts'
import { openSteps, readOpened } from './sql/open-steps.ts'
import { listSteps, resolveStep } from './sql/list-steps.ts'
import { settleLeased } from './sql/settle-leased.ts'
import { writeCalls } from './sql/write-calls.ts'

/** A statement of ours inside a handler's transaction, COMMIT included. */
export const HELD_STATEMENT_TIMEOUT_MS = 30_000

/** The part of the store that keeps leases and steps. */
export class PostgresSteps extends PostgresOutbox implements StepsStore<PostgresTx> {
  protected readonly connections: Connections
  protected readonly suspectLock: string
  /** Transactions that are lent to handlers. */
  protected readonly held = new Set<HeldTransaction>()
  /** What they leave behind. */
  protected readonly watcher = new SessionWatcher()

  constructor(connections: Connections, schema: string) {
    super(connections, schema)
    this.connections = connections
    this.suspectLock = lockNumber(schema, 'suspect')
  }

  async leaseDue(request: LeaseRequest): Promise<readonly LeasedEvent[]> {
    return leaseDue(this.connections, request, this.suspectLock)
  }

  async releaseForgotten(workerId: string, known: readonly number[]): Promise<number> {
    return this.connections.transactOnControl(async (connection) =>
      releaseForgotten(connection, workerId, known),
    )
  }

  async listSteps(eventId: EventId, run?: number): Promise<readonly StepRecord[]> {
    if (!isEventId(eventId)) return []
    return this.connections.use(async (connection) => listSteps(connection, eventId, run))
  }

  async writeCalls(entries: readonly CallEntry[]): Promise<readonly (CallWritten | undefined)[]> {
    if (entries.length === 0) return []
    return writeCalls(this.connections, entries)
  }

  async openSteps(
    steps: readonly OpenStep[],
    limits: StepLimits,
  ): Promise<StepTransaction<PostgresTx> | undefined> {
    const connection = await this.connections.checkOut()
    connection.limitEachTo(HELD_STATEMENT_TIMEOUT_MS)
    try {
      const settings = { statementTimeoutMs: 0, ...limits }
      const { watch, opened } = await this.watcher.begin(connection, settings, openSteps(steps))
      const found = readOpened(steps, opened?.rows ?? [])
      if (found !== undefined) {
        const { held, pid, xid } = found
        const transaction = new HeldTransaction({
          connection,
          xid,
          isAlone: steps.length === 1,
          watch,
          cancel: async () => this.cancelStatement(pid),
          onEnd: (ended) => this.held.delete(ended),
        })
        this.held.add(transaction)
        return new PostgresStepTransaction(steps, held, transaction)
      }
    } catch (error) {
      await rollBack(connection)
      throw asStoreError(error)
    }
    await rollBack(connection)
    return undefined
  }

  async settleLeased(settlements: readonly LeasedSettlement[]): Promise<readonly boolean[]> {
    if (settlements.length === 0) return []
    return settleLeased(this.connections, settlements)
  }

  async resolveStep(resolution: StepResolution): Promise<boolean> {
    return (
      isEventId(resolution.eventId) &&
      this.connections.transact(async (connection) => resolveStep(connection, resolution))
    )
  }

  protected async cancelStatement(pid: number): Promise<void> {
    await this.connections.useControl(async (connection) =>
      connection.query('select pg_cancel_backend($1)', [pid]),
    )
  }
}
