/**
 * Claimed events and the open transaction that holds them.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { ClaimedEvent, CommitResult, Group } from '../contract/store.ts'
import type { GroupLeaseRequest, LeasedEvent } from '../contract/steps.ts'
import type { PostgresTx } from './driver.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { OpenTransaction } from './held-transaction.ts'
import { leaseClaimed } from './sql/lease-events.ts'
import { settle } from './sql/settle.ts'
import { findSqlState } from './store-error.ts'
import { milliseconds } from './transaction.ts'

export interface OpenGroup extends Omit<OpenTransaction, 'isAlone'> {
  readonly events: readonly ClaimedEvent[]
}

export class PostgresGroup extends HeldTransaction implements Group<PostgresTx> {
  readonly events: readonly ClaimedEvent[]

  constructor({ events, ...transaction }: OpenGroup) {
    super({ ...transaction, isAlone: events.length === 1 })
    this.events = events
  }

  async mark(name: string): Promise<void> {
    await this.connection.run(`savepoint ${markName(name)}`)
  }

  async rollbackTo(name: string): Promise<void> {
    this.writes.drop()
    // What runs again runs as plainly as it can: a name that fails here would cost an event its attempt.
    this.names = undefined
    await this.#useMark(`rollback to savepoint ${markName(name)}`)
    this.watch.local.rolledBack()
  }

  /** In one round trip with what puts settings of the handler's back. */
  async releaseMark(name: string): Promise<void> {
    const texts = [`release savepoint ${markName(name)}`, ...this.watch.local.takeRestore()]
    await this.#useMark(texts.join('; '))
  }

  /** A savepoint that is not there shows that this is not the transaction it was set in. */
  async #useMark(text: string): Promise<void> {
    try {
      await this.connection.run(text)
    } catch (error) {
      if (findSqlState(error) !== NO_SUCH_SAVEPOINT) throw error
      this.isForeign = true
      throw new HookonceError(
        'TRANSACTION_ENDED',
        'The transaction that held the events was ended by a handler, or by a library it uses',
        {
          cause: error,
        },
      )
    }
  }

  hasWrites(): boolean {
    return !this.writes.isEmpty
  }

  async flush(): Promise<void> {
    await this.writes.send()
  }

  async setLockTimeout(lockTimeoutMs: number): Promise<void> {
    await this.connection.run(`set local lock_timeout = ${milliseconds(lockTimeoutMs)}`)
  }

  async settle(settlements: readonly Settlement[]): Promise<ReadonlySet<EventId>> {
    // Outside our transaction every statement would commit by itself.
    this.requireOpen()
    const restore = this.watch.local.takeRestore()
    if (restore.length > 0) await this.connection.run(restore.join('; '))
    try {
      await settle(this.connection, this.xid, settlements)
      // The transaction has held them since they were claimed.
      return new Set()
    } catch (error) {
      if (error instanceof HookonceError && error.code === 'TRANSACTION_ENDED')
        this.isForeign = true
      throw error
    }
  }

  async commit(): Promise<CommitResult> {
    return this.commitAfter([])
  }

  async lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]> {
    try {
      this.requireOpen()
      const leased = await leaseClaimed(this.connection, this.events, request)
      const committed = await this.commit()
      if (committed.status === 'committed') return leased
      throw committed.error
    } catch (error) {
      await this.abandon()
      throw error
    }
  }
}

const NO_SUCH_SAVEPOINT = '3B001'

/** The names come from our own code, and still they become SQL. */
function markName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,50}$/.test(name))
    throw new Error(`Not a name for a savepoint: ${name}`)
  return `"hookonce_${name}"`
}
