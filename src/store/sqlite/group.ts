/**
 * Claimed events and the write transaction that holds them.
 *
 * SQLite has no server that could end a forgotten transaction, so the group does it itself: a timer
 * that every statement winds again rolls it back and frees the writer. The slot's list of running
 * events, written before the group opened, is emptied with the commit; after a rollback it is emptied
 * on its own, since the rollback cannot.
 *
 * @module
 */

import { asError, CommitUnknownError, HookonceError } from '../../errors.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { ClaimedEvent, CommitResult, Group, LentTx, WorkerSlot } from '../contract.ts'
import type { GroupLeaseRequest, LeasedEvent } from '../steps-contract.ts'
import type { Connection } from './connection.ts'
import { lendTx } from './lent-tx.ts'
import type { Lender, SqliteTx } from './lent-tx.ts'
import { getOwnProcess } from './process-identity.ts'
import type { RunningLists } from './running-lists.ts'
import { announce } from './sql/announce.ts'
import { leaseClaimed } from './sql/lease-events.ts'
import { settle } from './sql/settle.ts'
import { dropTemporaryObjects, findTemporaryObjects } from './temporary-objects.ts'
import type { Release, Writer } from './writer.ts'

/** How much longer than asked for a group may sit idle: nobody but this process waits for it. */
const IDLE_FACTOR = 2

/** How long a rollback waits for the lock in order to empty the slot's list, before it leaves that for later. */
const CLEAR_WAIT_MS = 1_000

export interface GroupInput {
  readonly writer: Writer
  readonly lists: RunningLists
  readonly slot: WorkerSlot
  readonly events: readonly ClaimedEvent[]
  readonly idleTimeoutMs: number
  /** Called once, when the transaction has ended. */
  readonly release: Release
}

export class SqliteGroup implements Group<SqliteTx>, Lender {
  readonly events: readonly ClaimedEvent[]
  readonly #writer: Writer
  readonly #lists: RunningLists
  readonly #slot: WorkerSlot
  readonly #release: Release
  readonly #idleTimer: NodeJS.Timeout
  #ended = false
  /** Ended by SQLite or by the clock, neither of which is the handler's doing. */
  #lost = false

  constructor({ writer, lists, slot, events, idleTimeoutMs, release }: GroupInput) {
    this.events = events
    this.#writer = writer
    this.#lists = lists
    this.#slot = slot
    this.#release = release
    this.#idleTimer = setTimeout(() => {
      this.#lost = true
      void this.abandon()
    }, idleTimeoutMs * IDLE_FACTOR)
    this.#idleTimer.unref()
  }

  lend(): LentTx<SqliteTx> {
    return lendTx(this, { isAlone: this.events.length === 1 })
  }

  /** A statement has run when the call returns. */
  hasWrites(): boolean {
    return false
  }

  async flush(): Promise<void> {}

  async mark(name: string): Promise<void> {
    this.#execute(`savepoint ${requireMark(name)}`)
  }

  async rollbackTo(name: string): Promise<void> {
    this.#execute(`rollback to ${requireMark(name)}`)
  }

  async releaseMark(name: string): Promise<void> {
    this.#execute(`release ${requireMark(name)}`)
  }

  /** With one writer there is no lock to wait for. */
  async setLockTimeout(): Promise<void> {}

  /** A failed statement undoes itself in SQLite and leaves the transaction usable, so `failed` never comes. */
  status(): 'open' | 'ended' | 'lost' {
    if (this.#lost) return 'lost'
    return this.#ended || !this.#writer.connection.inTransaction() ? 'ended' : 'open'
  }

  /** A statement has ended before anything else in this process can run. */
  async cancel(): Promise<void> {}

  assertOpen(): void {
    if (this.status() !== 'open') {
      throw new HookonceError(
        'TRANSACTION_ENDED',
        'The transaction that claimed these events has ended',
      )
    }
    this.#idleTimer.refresh()
  }

  query(sql: string, params: readonly unknown[]): ReturnType<Lender['query']> {
    return this.#attempt((connection) => connection.query(sql, params))
  }

  execute(sql: string): void {
    this.#attempt((connection) => connection.executeLent(sql))
  }

  async findTraces(): Promise<string | undefined> {
    return this.#attempt(findTemporaryObjects)
  }

  async settle(settlements: readonly Settlement[]): Promise<void> {
    this.assertOpen()
    this.#attempt((connection) => {
      for (const settlement of settlements) settle(connection, settlement)
    })
  }

  async commit(): Promise<CommitResult> {
    try {
      this.assertOpen()
      this.#clearList()
      this.#writer.commit()
      dropTemporaryObjects(this.#writer.connection)
      this.#end()
      return { status: 'committed' }
    } catch (error) {
      await this.abandon()
      const status = error instanceof CommitUnknownError ? 'unknown' : 'refused'
      return { status, error: asError(error) }
    }
  }

  async lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]> {
    this.assertOpen()
    const leased = this.#attempt((connection) => leaseClaimed(connection, this.events, request))
    const committed = await this.commit()
    if (committed.status === 'committed') return leased
    throw committed.error
  }

  async abandon(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#idleTimer)
    this.#writer.rollback()
    try {
      const deadline = performance.now() + CLEAR_WAIT_MS
      await this.#writer.transactHeld({ deadline, durable: false }, () => this.#clearList())
    } catch {
      this.#lists.emptyLater(this.#slot)
    } finally {
      this.#release()
    }
  }

  #execute(sql: string): void {
    this.assertOpen()
    this.#attempt((connection) => connection.execute(sql))
  }

  /**
   * A full disk, an error of the disk or a lack of memory make SQLite roll everything back by itself.
   * A statement that throws and leaves no transaction behind has met one of them.
   */
  #attempt<Result>(work: (connection: Connection) => Result): Result {
    const { connection } = this.#writer
    try {
      return work(connection)
    } catch (error) {
      if (!connection.inTransaction()) this.#lost = true
      throw error
    }
  }

  /** Moves the heart as well: a beat cannot be written while a group has the writer. */
  #clearList(): void {
    announce(this.#writer.connection, { slot: this.#slot, running: [], process: getOwnProcess() })
  }

  #end(): void {
    this.#ended = true
    clearTimeout(this.#idleTimer)
    this.#release()
  }
}

/** A mark becomes part of SQL text, where a plain word may be a word of SQL. */
function requireMark(name: string): string {
  if (/^[a-z][a-z0-9_]*$/.test(name)) return `"hookonce_${name}"`
  throw new TypeError(`A mark must be a plain word, received ${JSON.stringify(name)}`)
}
