/**
 * A transaction of ours that is lent to handlers: by a group of claimed events, or by a step.
 *
 * @module
 */

import { HookonceError, TransactionAbortedError } from '../../errors.ts'
import type { CommitResult, LentTx } from '../contract/store.ts'
import { sendCommit } from './commit.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import type { PostgresTx } from './driver.ts'
import { LentPostgresTx } from './lent-tx.ts'
import { PendingWrites } from './pending-writes.ts'
import type { SessionWatch } from './session-watch.ts'
import type { StatementNames } from './statement-names.ts'

export interface OpenTransaction {
  readonly connection: Connection
  /** The database's name for the transaction. */
  readonly xid: string
  /** Whether one event has it for itself. */
  readonly isAlone: boolean
  readonly watch: SessionWatch
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
  protected readonly watch: SessionWatch
  readonly #isAlone: boolean
  readonly #cancel: () => Promise<void>
  readonly #onEnd: (transaction: HeldTransaction) => void
  readonly #lent: LentPostgresTx[] = []
  /** A handler, or a library, ended our transaction, and what is open now is not ours. */
  protected isForeign = false
  #hasEnded = false

  constructor({ connection, xid, isAlone, watch, names, cancel, onEnd }: OpenTransaction) {
    this.connection = connection
    this.watch = watch
    this.writes = new PendingWrites(connection, () => watch.prepare())
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
      watch: this.watch,
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

  findTraces(): Promise<string | undefined> {
    return this.watch.findTraces()
  }

  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#end()
    await rollBack(this.connection, this.#watchOfHandlers)
    this.#onEnd(this)
  }

  /** Where no handler had the transaction, none has left anything. */
  get #watchOfHandlers(): SessionWatch | undefined {
    return this.#lent.length === 0 ? undefined : this.watch
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
    const watch = this.#watchOfHandlers
    const answer = await sendCommit(this.connection, this.#commitText(last), watch?.lastLook)
    if (answer.status === 'refused') await rollBack(this.connection, watch)
    else if (answer.status === 'committed' && watch !== undefined) watch.leave(answer.after)
    else this.connection.release()
    this.#onEnd(this)
    return answer.status === 'committed' ? { status: 'committed' } : answer
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
        : 'The transaction that held the events was ended by a handler, or by a library it uses',
    )
  }

  /** The client goes back to the pool: nothing that was lent may reach it any more. */
  #end(): void {
    this.#hasEnded = true
    this.writes.drop()
    for (const lent of this.#lent) lent.revokeNow()
  }

  /**
   * One round trip for five things: settings of a handler's are put back, the flag that the commit guard asks
   * for, a COMMIT that waits for the disk and tells when it has not, whatever a handler has set, the proof that this is the transaction that was opened (a division by
   * zero otherwise, before COMMIT is reached), and COMMIT.
   */
  #commitText(last: readonly string[]): string {
    const selected = [
      "set_config('hookonce.commit', 'ours', true)",
      "set_config('synchronous_commit', 'on', true)",
      "set_config('client_min_messages', 'warning', true)",
      `1 / (pg_current_xact_id()::text = '${this.xid}')::integer`,
      ...last,
    ]
    return [...this.watch.local.takeRestore(), `select ${selected.join(', ')}`, 'commit'].join('; ')
  }
}
