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
import { rollBack } from './connection.ts'
import type { Connections } from './connections.ts'
import type { PostgresTx } from './driver.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { isEventId } from './is-event-id.ts'
import { lockNumber } from './lock-number.ts'
import { PostgresStepTransaction } from './step-transaction.ts'
import { asStoreError } from './store-error.ts'
import { leaseDue, releaseForgotten } from './sql/lease-events.ts'
import { openSteps, readOpened } from './sql/open-steps.ts'
import { listSteps, resolveStep } from './sql/list-steps.ts'
import { settleLeased } from './sql/settle-leased.ts'
import { writeCalls } from './sql/write-calls.ts'

/** The part of the store that keeps leases and steps. */
export class PostgresSteps implements StepStore<PostgresTx> {
  readonly #connections: Connections
  readonly #held: HeldTransactions
  readonly #suspectLock: string

  constructor(schema: string, connections: Connections, held: HeldTransactions) {
    this.#connections = connections
    this.#held = held
    this.#suspectLock = lockNumber(schema, 'suspect')
  }

  async lease(request: LeaseRequest): Promise<readonly LeasedEvent[]> {
    return leaseDue(this.#connections, request, this.#suspectLock)
  }

  async releaseForgotten(workerId: string, known: readonly number[]): Promise<number> {
    return this.#connections.transactOnControl(async (connection) =>
      releaseForgotten(connection, workerId, known),
    )
  }

  async list(eventId: EventId, run?: number): Promise<readonly StepRecord[]> {
    if (!isEventId(eventId)) return []
    return this.#connections.use(async (connection) => listSteps(connection, eventId, run))
  }

  async writeCalls(entries: readonly CallEntry[]): Promise<readonly (CallWritten | undefined)[]> {
    if (entries.length === 0) return []
    return writeCalls(this.#connections, entries)
  }

  async open(
    steps: readonly OpenStep[],
    limits: StepLimits,
  ): Promise<StepTransaction<PostgresTx> | undefined> {
    const connection = await this.#held.checkOut()
    try {
      const settings = { statementTimeoutMs: 0, ...limits }
      const { watch, opened } = await this.#held.watcher.begin(
        connection,
        settings,
        openSteps(steps),
      )
      const found = readOpened(steps, opened?.rows ?? [])
      if (found !== undefined) {
        const { held, pid, xid } = found
        const isAlone = steps.length === 1
        const transaction = this.#held.hold({ connection, pid, xid, watch, isAlone })
        return new PostgresStepTransaction(steps, held, transaction)
      }
    } catch (error) {
      await rollBack(connection)
      throw asStoreError(error)
    }
    await rollBack(connection)
    return undefined
  }

  async settle(settlements: readonly LeasedSettlement[]): Promise<readonly boolean[]> {
    if (settlements.length === 0) return []
    return settleLeased(this.#connections, settlements)
  }

  async resolve(resolution: StepResolution): Promise<boolean> {
    return (
      isEventId(resolution.eventId) &&
      this.#connections.transact(async (connection) => resolveStep(connection, resolution))
    )
  }
}
