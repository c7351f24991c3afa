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
import type { StatementNames } from './statement-names.ts'
import { settle } from './sql/settle.ts'
import { findSqlState } from './store-error.ts'
import { milliseconds } from './transaction.ts'

export interface OpenGroup {
  readonly connection: Connection
  readonly events: readonly ClaimedEvent[]
  /** The database's name for the transaction. */
  readonly xid: string
  /** Where the connection is known to stay with one backend. */
  readonly names: StatementNames | undefined
  /** Stops the statement that the transaction is running. */
  readonly cancel: () => Promise<void>
  /** Called once, when the transaction has ended. */
  readonly onEnd: (group: PostgresGroup) => void
}

export class PostgresGroup implements Group<PostgresTx> {
  readonly events: readonly ClaimedEvent[]
  readonly #connection: Connection
  readonly #xid: string
  #names: StatementNames | undefined
  readonly #cancel: () => Promise<void>
  readonly #onEnd: (group: PostgresGroup) => void
  readonly #lent: LentPostgresTx[] = []
  #isForeign = false
  #hasEnded = false

  constructor({ connection, events, xid, names, cancel, onEnd }: OpenGroup) {
    this.events = events
    this.#connection = connection
    this.#xid = xid
    this.#names = names
    this.#cancel = cancel
    this.#onEnd = onEnd
  }

  lend(): LentTx<PostgresTx> {
    const lent = new LentPostgresTx(this.#connection, {
      isAlone: this.events.length === 1,
      names: this.#names,
    })
    this.#lent.push(lent)
    return lent
  }

  async mark(name: string): Promise<void> {
    await this.#connection.run(`savepoint ${markName(name)}`)
  }

  async rollbackTo(name: string): Promise<void> {
    // What runs again runs as plainly as it can: a name that fails here would cost an event its attempt.
    this.#names = undefined
    await this.#useMark(`rollback to savepoint ${markName(name)}`)
  }

  async releaseMark(name: string): Promise<void> {
    await this.#useMark(`release savepoint ${markName(name)}`)
  }

  /** A mark that is not there shows that this is not the transaction it was set in. */
  async #useMark(text: string): Promise<void> {
    try {
      await this.#connection.run(text)
    } catch (error) {
      if (findSqlState(error) !== NO_SUCH_SAVEPOINT) throw error
      this.#isForeign = true
      throw new HookonceError(
        'TRANSACTION_ENDED',
        'The transaction that held the events was ended by somebody else',
        {
          cause: error,
        },
      )
    }
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
      if (error instanceof HookonceError && error.code === 'TRANSACTION_ENDED')
        this.#isForeign = true
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
    this.#end()
    const answer = await sendCommit(this.#connection, this.#commitText())
    if (answer.status === 'refused') await rollBack(this.#connection)
    else this.#connection.release()
    this.#onEnd(this)
    return answer
  }

  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#end()
    await rollBack(this.#connection)
    this.#onEnd(this)
  }

  /** The client is about to be somebody else's: nothing that was lent may reach it any more. */
  #end(): void {
    this.#hasEnded = true
    for (const lent of this.#lent) lent.revokeNow()
  }

  /**
   * One round trip for four things: the flag that the commit guard asks for, a COMMIT that waits for the
   * disk whatever a handler has set, the proof that this is the transaction that claimed the events (a
   * division by zero otherwise, before COMMIT is reached), and COMMIT.
   */
  #commitText(): string {
    return (
      "select set_config('hookonce.commit', 'ours', true), set_config('synchronous_commit', 'on', true), " +
      `1 / (pg_current_xact_id()::text = '${this.#xid}')::integer; ` +
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

const NO_SUCH_SAVEPOINT = '3B001'

/** The names come from our own code, and still they become SQL. */
function markName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,50}$/.test(name)) throw new Error(`Not a name for a mark: ${name}`)
  return `"hookonce_${name}"`
}
