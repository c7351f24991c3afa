/**
 * Claimed events and the open transaction that holds them.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { ClaimedEvent, CommitResult, Group, LentTx } from '../contract.ts'
import { rollBack, sendCommit } from './connection.ts'
import type { Connection } from './connection.ts'
import type { PostgresTx } from './driver.ts'
import { LentPostgresTx } from './lent-tx.ts'
import { settle } from './sql/settle.ts'
import { milliseconds } from './transaction.ts'

export interface OpenGroup {
  readonly connection: Connection
  readonly events: readonly ClaimedEvent[]
  /** The database's name for the transaction. */
  readonly xid: string
  /** Stops the statement that the transaction is running. */
  readonly cancel: () => Promise<void>
}

export class PostgresGroup implements Group<PostgresTx> {
  readonly events: readonly ClaimedEvent[]
  readonly #connection: Connection
  readonly #xid: string
  readonly #cancel: () => Promise<void>
  #isForeign = false
  #hasEnded = false

  constructor({ connection, events, xid, cancel }: OpenGroup) {
    this.events = events
    this.#connection = connection
    this.#xid = xid
    this.#cancel = cancel
  }

  lend(): LentTx<PostgresTx> {
    return new LentPostgresTx(this.#connection.client)
  }

  async mark(name: string): Promise<void> {
    await this.#connection.run(`savepoint ${markName(name)}`)
  }

  async rollbackTo(name: string): Promise<void> {
    await this.#connection.run(`rollback to savepoint ${markName(name)}`)
  }

  async releaseMark(name: string): Promise<void> {
    await this.#connection.run(`release savepoint ${markName(name)}`)
  }

  async setLockTimeout(lockTimeoutMs: number): Promise<void> {
    await this.#connection.run(`set local lock_timeout = ${milliseconds(lockTimeoutMs)}`)
  }

  status(): 'open' | 'failed' | 'ended' | 'lost' {
    if (this.#connection.isLost) return 'lost'
    if (this.#isForeign || this.#hasEnded) return 'ended'
    switch (this.#connection.transactionStatus) {
      case 'T':
        return 'open'
      case 'E':
        return 'failed'
      default:
        return 'ended'
    }
  }

  async cancel(): Promise<void> {
    await this.#cancel()
  }

  async settle(settlements: readonly Settlement[]): Promise<void> {
    // Outside our transaction every statement would commit by itself.
    this.#requireOpen()
    try {
      await settle(this.#connection, this.#xid, settlements)
    } catch (error) {
      if (error instanceof HookonceError && error.code === 'TRANSACTION_ENDED') this.#isForeign = true
      throw error
    }
  }

  async commit(): Promise<CommitResult> {
    try {
      this.#requireOpen()
    } catch (error) {
      await this.abandon()
      return { status: 'refused', error: error as Error }
    }
    this.#hasEnded = true
    const answer = await sendCommit(this.#connection, this.#commitText())
    if (answer.status === 'refused') await rollBack(this.#connection)
    else this.#connection.release()
    return answer
  }

  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    await rollBack(this.#connection)
  }

  /**
   * One round trip for three things: the flag that the commit guard asks for, the proof that this is
   * the transaction that claimed the events (a division by zero otherwise, before COMMIT is reached),
   * and COMMIT.
   */
  #commitText(): string {
    return (
      `select set_config('hookonce.commit', 'ours', true), 1 / (pg_current_xact_id()::text = '${this.#xid}')::integer; ` +
      'commit'
    )
  }

  #requireOpen(): void {
    const status = this.status()
    if (status === 'open') return
    if (status === 'failed') {
      throw new HookonceError(
        'TRANSACTION_ABORTED',
        'A statement of a handler failed and the handler went on: nothing in the transaction can be kept',
      )
    }
    throw new HookonceError(
      'TRANSACTION_ENDED',
      status === 'lost'
        ? 'The connection that held the transaction was lost'
        : 'The transaction that held the events was ended by somebody else',
    )
  }
}

/** The names come from our own code, and still they become SQL. */
function markName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,50}$/.test(name)) throw new Error(`Not a name for a mark: ${name}`)
  return `"hookonce_${name}"`
}
