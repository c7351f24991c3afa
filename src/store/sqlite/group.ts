/**
 * Claimed events and the write transaction that holds them.
 *
 * A group that opens late has no transaction until a handler uses `tx` or the events are settled. What
 * holds its events until then is the slot's list of running events, which was written before the group
 * was made: no claim offers what a list names. When the transaction opens, the events must still be
 * queued as they were claimed; of one that is not, nothing is kept.
 *
 * The list is emptied with the commit; after a rollback it is emptied on its own, since the rollback
 * cannot.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type {
  ClaimedEvent,
  CommitResult,
  Group,
  HandlerClock,
  LentTx,
  WorkerSlot,
} from '../contract/store.ts'
import type { GroupLeaseRequest, LeasedEvent } from '../contract/steps.ts'
import type { Connection } from './connection.ts'
import { GroupTransaction } from './group-transaction.ts'
import { notCommitted } from './held-transaction.ts'
import { lendTx } from './lent-tx.ts'
import type { Lender, SqliteTx } from './lent-tx.ts'
import { getOwnProcess } from './process-identity.ts'
import type { RunningLists } from './running-lists.ts'
import { announce } from './sql/announce.ts'
import { isStillClaimable } from './sql/claim-group.ts'
import { leaseClaimed } from './sql/lease-events.ts'
import { settle } from './sql/settle.ts'
import { toStoreError } from './store-error.ts'
import { dropTemporaryObjects, findTemporaryObjects } from './temporary-objects.ts'
import type { Turn } from './turn.ts'
import type { Writer } from './writer.ts'

/** How long a rollback waits for the writer in order to empty the slot's list, before it leaves that for later. */
const CLEAR_WAIT_MS = 1_000

export interface GroupInput {
  readonly writer: Writer
  readonly lists: RunningLists
  readonly slot: WorkerSlot
  readonly events: readonly ClaimedEvent[]
  readonly idleTimeoutMs: number
  /** Called once, when the group's transaction is open. */
  readonly onOpen: () => void
  /** Called once, when the group has ended. */
  readonly onEnd: () => void
}

export class SqliteGroup implements Group<SqliteTx>, Lender {
  readonly events: readonly ClaimedEvent[]
  readonly #input: GroupInput
  readonly #transaction: GroupTransaction
  /** Events that were no longer as they were claimed when the transaction was opened. */
  readonly #taken = new Set<EventId>()
  #hasEnded = false

  /** With a turn whose transaction is open and has checked the events; without one it opens late. */
  constructor(input: GroupInput, turn?: Turn) {
    const { events, writer, idleTimeoutMs, onOpen } = input
    this.events = events
    this.#input = input
    this.#transaction = new GroupTransaction(
      {
        writer,
        idleTimeoutMs,
        check: (connection) => this.#checkClaim(connection),
        onOpen,
        onIdle: () => void this.abandon(),
      },
      turn,
    )
  }

  lend(clock?: HandlerClock): LentTx<SqliteTx> {
    return lendTx(this, { isAlone: this.events.length === 1, clock })
  }

  /** What waits for the transaction to open is flushed by the end of its handler. */
  hasWrites(): boolean {
    return false
  }

  async flush(): Promise<void> {}

  async mark(name: string): Promise<void> {
    this.#transaction.setMark(quoteMark(name))
  }

  async rollbackTo(name: string): Promise<void> {
    this.#transaction.rollbackTo(quoteMark(name))
  }

  async releaseMark(name: string): Promise<void> {
    this.#transaction.releaseMark(quoteMark(name))
  }

  /** With one writer there is no lock to wait for. */
  async setLockTimeout(): Promise<void> {}

  /** A failed statement undoes itself in SQLite and leaves the transaction usable, so `failed` never comes. */
  status(): 'open' | 'ended' | 'lost' | 'taken' {
    return this.#isTaken() ? 'taken' : this.#transaction.status()
  }

  /** A statement has ended before anything else in this process can run. */
  async cancel(): Promise<void> {}

  openNow(): boolean {
    if (this.#isTaken()) throw claimLost()
    return this.#transaction.openNow()
  }

  open(): Promise<void> {
    return this.#transaction.open()
  }

  query(sql: string, params: readonly unknown[]): ReturnType<Lender['query']> {
    return this.#transaction.use((connection) => connection.query(sql, params))
  }

  execute(sql: string): void {
    this.#transaction.use((connection) => connection.executeLent(sql))
  }

  async findTraces(): Promise<string | undefined> {
    return this.#transaction.isOpen ? this.#transaction.use(findTemporaryObjects) : undefined
  }

  async settle(settlements: readonly Settlement[]): Promise<ReadonlySet<EventId>> {
    if (!(await this.#openForUs())) return this.#taken
    const ours = settlements.filter(({ eventId }) => !this.#taken.has(eventId))
    try {
      this.#transaction.use(dropTemporaryObjects)
      await this.#input.writer.breaks.each(ours, (settlement) =>
        this.#transaction.use((connection) => settle(connection, settlement)),
      )
      return this.#taken
    } catch (error) {
      // A full disk is no fault of the events.
      throw toStoreError(error)
    }
  }

  async commit(): Promise<CommitResult> {
    try {
      if (!(await this.#openForUs())) throw claimLost()
      this.#end(this.#transaction.commit((connection) => this.#clearList(connection)))
      return { status: 'committed' }
    } catch (error) {
      await this.abandon()
      return notCommitted(error)
    }
  }

  async lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]> {
    if (!(await this.#openForUs())) {
      await this.abandon()
      return []
    }
    const events = this.events.filter(({ eventId }) => !this.#taken.has(eventId))
    const leased = this.#transaction.use((connection) => leaseClaimed(connection, events, request))
    const committed = await this.commit()
    if (committed.status === 'committed') return leased
    throw committed.error
  }

  async abandon(): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const turn = this.#transaction.rollback()
    try {
      await this.#clearListAlone(turn)
    } catch {
      this.#input.lists.emptyLater(this.#input.slot)
    } finally {
      this.#end(turn)
    }
  }

  /** Opens what is not open yet; `false` when the events are no longer this worker's. */
  async #openForUs(): Promise<boolean> {
    if (this.#isTaken()) return false
    try {
      await this.open()
      return true
    } catch (error) {
      if (this.#isTaken()) return false
      throw error
    }
  }

  /** In the transaction, which keeps true from here on what it finds. */
  #checkClaim(connection: Connection): void {
    for (const event of this.events)
      if (!isStillClaimable(connection, event)) this.#taken.add(event.eventId)
    if (this.#isTaken()) throw claimLost()
  }

  #isTaken(): boolean {
    return this.#taken.size === this.events.length
  }

  async #clearListAlone(turn: Turn | undefined): Promise<void> {
    const clear = (connection: Connection): void => this.#clearList(connection)
    if (turn === undefined)
      return this.#input.writer.transact({ waitMs: CLEAR_WAIT_MS, durable: false }, clear)
    const deadline = performance.now() + CLEAR_WAIT_MS
    return turn.transact({ deadline, durable: false }, clear)
  }

  #clearList(connection: Connection): void {
    announce(connection, { slot: this.#input.slot, running: [], process: getOwnProcess() })
  }

  #end(turn: Turn | undefined): void {
    this.#hasEnded = true
    this.#input.onEnd()
    turn?.release()
  }
}

function claimLost(): HookonceError {
  return new HookonceError(
    'CLAIM_LOST',
    'The event was taken from this worker while its handler ran: nothing that the handler does for it is kept',
    { retryable: true },
  )
}

/** A savepoint's name becomes part of SQL text, where a plain word may be a word of SQL. */
function quoteMark(name: string): string {
  if (/^[a-z][a-z0-9_]*$/.test(name)) return `"hookonce_${name}"`
  throw new TypeError(`A savepoint must be a plain word, received ${JSON.stringify(name)}`)
}
