/**
 * Claimed events and the open transaction that holds them.
 *
 * @module
 */

import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { ClaimedEvent } from '../contract/claimed-event.ts'
import type { CommitResult, LentTx } from '../contract/transaction.ts'
import type { Group } from '../contract/group.ts'
import type { GroupLeaseRequest, LeasedEvent } from '../contract/steps.ts'
import type { PostgresTx } from './tx.ts'
import type { HeldTransaction } from './held-transaction.ts'
import { leaseClaimed } from './sql/lease-events.ts'
import { lockLanes } from './sql/mend-lanes.ts'
import { settle } from './sql/settle.ts'
import { milliseconds } from './transaction.ts'

export class PostgresGroup implements Group<PostgresTx> {
  readonly events: readonly ClaimedEvent[]
  readonly #transaction: HeldTransaction

  constructor(events: readonly ClaimedEvent[], transaction: HeldTransaction) {
    this.events = events
    this.#transaction = transaction
  }

  lend(): LentTx<PostgresTx> {
    return this.#transaction.lend()
  }

  status(): ReturnType<HeldTransaction['status']> {
    return this.#transaction.status()
  }

  cancel(): Promise<void> {
    return this.#transaction.cancel()
  }

  findTraces(): Promise<string | undefined> {
    return this.#transaction.findTraces()
  }

  hasWrites(): boolean {
    return this.#transaction.hasWrites()
  }

  flush(): Promise<void> {
    return this.#transaction.flush()
  }

  setSavepoint(name: string): Promise<void> {
    return this.#transaction.setSavepoint(name)
  }

  rollbackTo(name: string): Promise<void> {
    return this.#transaction.rollbackTo(name)
  }

  dropSavepoint(name: string): Promise<void> {
    return this.#transaction.dropSavepoint(name)
  }

  async setLockTimeout(lockTimeoutMs: number): Promise<void> {
    const values = [String(milliseconds(lockTimeoutMs))]
    await this.#transaction.use((connection) => connection.query(SET_LOCK_TIMEOUT, values))
  }

  async settle(settlements: readonly Settlement[]): Promise<ReadonlySet<EventId>> {
    const lanes = this.events.flatMap(({ lane }) =>
      lane === undefined || lane.mode === 'after' ? [] : [lane.id],
    )
    await this.#transaction.use(async (connection, xid) => {
      await lockLanes(connection, lanes)
      await settle(connection, xid, settlements)
    })
    // The transaction has held them since they were claimed.
    return new Set()
  }

  commit(): Promise<CommitResult> {
    return this.#transaction.commit()
  }

  async lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]> {
    try {
      const leased = await this.#transaction.use((connection) =>
        leaseClaimed(connection, this.events, request),
      )
      const committed = await this.commit()
      if (committed.status === 'committed') return leased
      throw committed.error
    } catch (error) {
      await this.abandon()
      throw error
    }
  }

  abandon(): Promise<void> {
    return this.#transaction.abandon()
  }
}

// $1 in ms
const SET_LOCK_TIMEOUT = `
  select pg_catalog.set_config('lock_timeout', $1, true)`
