/**
 * A transaction of ours that is lent to handlers: by a group of claimed events, or by a step.
 *
 * @module
 */

import { HookonceError, TransactionAbortedError } from '../../errors.ts'
import type { CommitResult, LentTx } from '../contract.ts'
import { sendCommit } from './commit.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import type { PostgresTx } from './driver.ts'
import { LentPostgresTx } from './lent-tx.ts'
import { PendingWrites } from './pending-writes.ts'
import type { StatementNames } from './statement-names.ts'

export interface OpenTransaction {
  readonly connection: Connection
  /** The database's name for the transaction. */
  readonly xid: string
  /** Whether one event has it for itself. */
  readonly isAlone: boolean
  /** Where the connection is known to stay with one backend. */
  readonly names?: StatementNames | undefined
  /** Stops the statement that the transaction is running. */
  readonly cancel: () => Promise<void>
  /** Called once, when the transaction has ended. */
  readonly onEnd: (transaction: HeldTransaction) => void
}

export class HeldTransaction {
  protected readonly connection: Connection
  protected readonly xid: string
  protected names: StatementNames | undefined
  protected readonly writes: PendingWrites
  readonly #isAlone: boolean
  readonly #cancel: () => Promise<void>
  readonly #onEnd: (transaction: HeldTransaction) => void
  readonly #lent: LentPostgresTx[] = []
  /** Somebody else ended ours, and what is open now is not ours. */
  protected isForeign = false
  #hasEnded = false

  constructor({ connection, xid, isAlone, names, cancel, onEnd }: OpenTransaction) {
    this.connection = connection
    this.writes = new PendingWrites(connection)
    this.xid = xid
    this.#isAlone = isAlone
    this.names = names
    this.#cancel = cancel
    this.#onEnd = onEnd
  }

  lend(): LentTx<PostgresTx> {
    const lent = new LentPostgresTx(this.connection, {
      isAlone: this.#isAlone,
      names: this.names,
      writes: this.writes,
    })
    this.#lent.push(lent)
    return lent
  }

  status(): 'open' | 'failed' | 'ended' | 'lost' {
    if (this.connection.isLost) return 'lost'
    if (this.isForeign || this.#hasEnded) return 'ended'
    switch (this.connection.transactionStatus) {
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

  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#end()
    await rollBack(this.connection)
    this.#onEnd(this)
  }

  /** `last` is what is still to be selected, before COMMIT and in the same round trip. */
  protected async commitAfter(last: readonly string[]): Promise<CommitResult> {
    try {
      this.requireOpen()
    } catch (error) {
      await this.abandon()
      return { status: 'refused', error: error as Error }
    }
    this.#end()
    const answer = await sendCommit(this.connection, this.#commitText(last))
    if (answer.status === 'refused') await rollBack(this.connection)
    else this.connection.release()
    this.#onEnd(this)
    return answer
  }

  protected requireOpen(): void {
    if (!this.writes.isEmpty) throw new Error('What a handler wrote has not been sent')
    const status = this.status()
    if (status === 'open') return
    if (status === 'failed') throw new TransactionAbortedError()
    throw new HookonceError(
      'TRANSACTION_ENDED',
      status === 'lost'
        ? 'The connection that held the transaction was lost'
        : 'The transaction that held the events was ended by somebody else',
    )
  }

  /** The client is about to be somebody else's: nothing that was lent may reach it any more. */
  #end(): void {
    this.#hasEnded = true
    this.writes.drop()
    for (const lent of this.#lent) lent.revokeNow()
  }

  /**
   * One round trip for four things: the flag that the commit guard asks for, a COMMIT that waits for the
   * disk whatever a handler has set, the proof that this is the transaction that was opened (a division by
   * zero otherwise, before COMMIT is reached), and COMMIT.
   */
  #commitText(last: readonly string[]): string {
    const selected = [
      "set_config('hookonce.commit', 'ours', true)",
      "set_config('synchronous_commit', 'on', true)",
      `1 / (pg_current_xact_id()::text = '${this.xid}')::integer`,
      ...last,
    ]
    return `select ${selected.join(', ')}; commit`
  }
}
