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
import type { ClaimedEvent } from '../contract/claimed-event.ts'
import type { CommitResult, HandlerClock, LentTx } from '../contract/transaction.ts'
import type { Group } from '../contract/group.ts'
import type { WorkerSlot } from '../contract/workers.ts'
import type { GroupLeaseRequest, LeasedEvent } from '../contract/steps.ts'
import type { Connection } from './connection.ts'
import { HeldTransaction, notCommitted } from './held-transaction.ts'
import type { SqliteTx } from './tx.ts'
import { getOwnProcess } from './process-identity.ts'
import type { RunningLists } from './running-lists.ts'
import { announce } from './sql/announce.ts'
import { isStillClaimable } from './sql/claim-group.ts'
import { leaseClaimed } from './sql/lease-events.ts'
import { settle } from './sql/settle.ts'
import { asStoreError } from './store-error.ts'
import { dropTemporaryObjects } from './temporary-objects.ts'
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
  /** How long it is likely to hold the writer; 0 if that is not long. */
  readonly slowMs: () => number
  /** Called once, when the group's transaction is open. */
  readonly onOpen: () => void
  /** Called once, when the group has ended. */
  readonly onEnd: () => void
}

export class SqliteGroup implements Group<SqliteTx> {
  readonly events: readonly ClaimedEvent[]
  readonly #input: GroupInput
  readonly #transaction: HeldTransaction
  /** Events that were no longer as they were claimed when the transaction was opened. */
  readonly #taken = new Set<EventId>()

  /** With a turn whose transaction is open and has checked the events; without one it opens late. */
  constructor(input: GroupInput, turn?: Turn) {
    this.events = input.events
    this.#input = input
    const parts = {
      ...input,
      isAlone: input.events.length === 1,
      check: (connection: Connection) => this.#checkClaim(connection),
      onRollback: (held: Turn | undefined) => this.#clearListAlone(held),
    }
    this.#transaction = new HeldTransaction(parts, turn)
  }

  lend(clock?: HandlerClock): LentTx<SqliteTx> {
    return this.#transaction.lend(clock)
  }

  status(): 'open' | 'ended' | 'lost' | 'taken' {
    return this.#isTaken() ? 'taken' : this.#transaction.status()
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

  /** With one writer there is no lock to wait for. */
  async setLockTimeout(): Promise<void> {}

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
      throw asStoreError(error)
    }
  }

  async commit(): Promise<CommitResult> {
    try {
      if (!(await this.#openForUs())) throw claimLost()
    } catch (error) {
      await this.abandon()
      return notCommitted(error)
    }
    return this.#transaction.commit((connection) => this.#clearList(connection))
  }

  async lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]> {
    try {
      if (!(await this.#openForUs())) {
        await this.abandon()
        return []
      }
      const events = this.events.filter(({ eventId }) => !this.#taken.has(eventId))
      const leased = this.#transaction.use((connection) =>
        leaseClaimed(connection, events, request),
      )
      const committed = await this.commit()
      if (committed.status === 'committed') return leased
      throw committed.error
    } catch (error) {
      // Until its idle timer ends it, no other could write.
      await this.abandon()
      throw error
    }
  }

  abandon(): Promise<void> {
    return this.#transaction.abandon()
  }

  /** Opens what is not open yet; `false` when the events are no longer this worker's. */
  async #openForUs(): Promise<boolean> {
    if (this.#isTaken()) return false
    try {
      await this.#transaction.open()
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
    const { writer, lists, slot } = this.#input
    const clear = (connection: Connection): void => this.#clearList(connection)
    const deadline = performance.now() + CLEAR_WAIT_MS
    try {
      if (turn !== undefined) await turn.transact({ deadline, durable: false }, clear)
      else await writer.transact({ waitMs: CLEAR_WAIT_MS, durable: false }, clear)
    } catch {
      lists.emptyLater(slot)
    }
  }

  #clearList(connection: Connection): void {
    announce(connection, { slot: this.#input.slot, running: [], process: getOwnProcess() })
  }
}

function claimLost(): HookonceError {
  return new HookonceError(
    'CLAIM_LOST',
    'The event was taken from this worker while its handler ran: nothing that the handler does for it is kept',
    { retryable: true },
  )
}
