/**
 * A transaction of ours that is lent to handlers: for a group of claimed events, or for steps.
 *
 * @module
 */

import { HookonceError, TransactionAbortedError } from '../../errors.ts'
import type { CommitResult, LentTx } from '../contract/transaction.ts'
import { quoteName } from '../shared/quote-name.ts'
import { sendCommit } from './commit.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import type { PostgresTx } from './tx.ts'
import { LentPostgresTx } from './lent-tx.ts'
import { PendingWrites } from './pending-writes.ts'
import type { SessionWatch } from './session-watch.ts'
import type { Statement } from './statement-batch.ts'
import type { StatementNames } from './statement-names.ts'
import { findSqlState } from './store-error.ts'

export interface HeldTransactionParts {
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
  readonly #parts: HeldTransactionParts
  readonly #writes: PendingWrites
  readonly #lent: LentPostgresTx[] = []
  #names: StatementNames | undefined
  /** Other code ended ours, and what is open now is not ours. */
  #isForeign = false
  #hasEnded = false

  constructor(parts: HeldTransactionParts) {
    const { connection, watch, names } = parts
    this.#parts = parts
    this.#names = names
    this.#writes = new PendingWrites(connection, () => watch.prepare())
  }

  lend(): LentTx<PostgresTx> {
    const { connection, isAlone, watch } = this.#parts
    const names = this.#names
    const lent = new LentPostgresTx(connection, { isAlone, names, writes: this.#writes, watch })
    this.#lent.push(lent)
    return lent
  }

  status(): 'open' | 'failed' | 'ended' | 'lost' {
    const { connection } = this.#parts
    if (connection.isLost) return 'lost'
    if (this.#isForeign || this.#hasEnded) return 'ended'
    switch (connection.transactionStatus) {
      case 'T':
        return 'open'
      case 'E':
        return 'failed'
      default:
        return 'ended'
    }
  }

  cancel(): Promise<void> {
    return this.#parts.cancel()
  }

  findTraces(): Promise<string | undefined> {
    return this.#parts.watch.findTraces()
  }

  hasWrites(): boolean {
    return !this.#writes.isEmpty
  }

  async flush(): Promise<void> {
    await this.#writes.send()
  }

  async setSavepoint(name: string): Promise<void> {
    await this.#parts.connection.run(`savepoint ${savepointName(name)}`)
  }

  async rollbackTo(name: string): Promise<void> {
    this.#writes.drop()
    // What runs again runs as plainly as it can: a name that fails here would cost an event its attempt.
    this.#names = undefined
    await this.#useSavepoint([{ text: `rollback to savepoint ${savepointName(name)}` }])
    this.#parts.watch.local.rolledBack()
  }

  /** In one round trip with what puts settings of the handler's back. */
  async dropSavepoint(name: string): Promise<void> {
    const release = { text: `release savepoint ${savepointName(name)}` }
    await this.#useSavepoint([release, ...this.#parts.watch.local.takeRestore()])
  }

  /** A savepoint that is not there shows that this is not the transaction it was set in. */
  async #useSavepoint(statements: readonly Statement[]): Promise<void> {
    try {
      await this.#parts.connection.runTogether(statements)
    } catch (error) {
      if (findSqlState(error) !== NO_SUCH_SAVEPOINT) throw error
      this.#isForeign = true
      throw endedByOthers({ cause: error })
    }
  }

  /** Runs statements of ours in the transaction, and throws if it is no longer the one that was opened. */
  async use<Result>(
    work: (connection: Connection, xid: string) => Promise<Result>,
  ): Promise<Result> {
    // Outside our transaction every statement would commit by itself.
    this.#requireOpen()
    const { connection, xid, watch } = this.#parts
    const restore = watch.local.takeRestore()
    if (restore.length > 0) await connection.runTogether(restore)
    try {
      return await work(connection, xid)
    } catch (error) {
      if (error instanceof HookonceError && error.code === 'TRANSACTION_ENDED')
        this.#isForeign = true
      throw error
    }
  }

  /**
   * One round trip for six things: settings of a handler's are put back; the flag that the commit fence asks for,
   * and a COMMIT that waits for the disk and tells when it has not, whatever a handler has set; the proof that this
   * is the transaction that was opened (a division by zero otherwise, before COMMIT is reached); `last`, which is
   * still to be written; COMMIT; and the last look at the session.
   */
  async commit(last: readonly Statement[] = []): Promise<CommitResult> {
    try {
      this.#requireOpen()
    } catch (error) {
      await this.abandon()
      return { status: 'refused', error: error as Error }
    }
    this.#end()
    const { connection, xid, watch } = this.#parts
    const proof = { text: PREPARE_COMMIT, values: [xid] }
    const before = [...watch.local.takeRestore(), proof, ...last]
    const handlersWatch = this.#handlersWatch
    const answer = await sendCommit(connection, before, handlersWatch?.lastLook)
    if (answer.status === 'refused') await rollBack(connection, handlersWatch)
    else if (handlersWatch === undefined) connection.returnToPool()
    // Where the outcome is unknown there is no look at the session, and the connection may be alive all the same: one
    // that was told to stop waiting for its standby is.
    else if (answer.status === 'unknown') connection.destroy()
    else handlersWatch.leave(answer.after)
    this.#parts.onEnd(this)
    return answer.status === 'committed' ? { status: 'committed' } : answer
  }

  /** Rolls back and returns the connection; never throws. */
  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#end()
    await rollBack(this.#parts.connection, this.#handlersWatch)
    this.#parts.onEnd(this)
  }

  /** Where no handler had the transaction, none has left anything. */
  get #handlersWatch(): SessionWatch | undefined {
    return this.#lent.length === 0 ? undefined : this.#parts.watch
  }

  #requireOpen(): void {
    if (this.hasWrites()) throw new Error('What a handler wrote has not been sent')
    const status = this.status()
    if (status === 'open') return
    if (status === 'failed') throw new TransactionAbortedError()
    if (status === 'ended') throw endedByOthers()
    throw new HookonceError(
      'TRANSACTION_ENDED',
      'The connection that held the transaction was lost',
    )
  }

  /** The client is about to be another's: nothing that was lent may reach it any more. */
  #end(): void {
    this.#hasEnded = true
    this.#writes.drop()
    for (const lent of this.#lent) lent.revokeNow()
  }
}

// $1 name of the transaction
const PREPARE_COMMIT = `
  select pg_catalog.set_config('hookonce.commit', 'ours', true),
         pg_catalog.set_config('synchronous_commit', 'on', true),
         pg_catalog.set_config('client_min_messages', 'warning', true),
         1 / (pg_catalog.pg_current_xact_id()::text = $1)::integer`

const NO_SUCH_SAVEPOINT = '3B001'

function savepointName(name: string): string {
  return quoteName(`hookonce_${name}`)
}

function endedByOthers(options?: ErrorOptions): HookonceError {
  return new HookonceError(
    'TRANSACTION_ENDED',
    'The transaction that held the events was ended by other code',
    options,
  )
}
