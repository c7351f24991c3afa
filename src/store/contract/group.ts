import type { EventId } from '../../model/event.ts'
import type { Settlement } from '../../model/outcome.ts'
import type { ClaimedEvent } from './claimed-event.ts'
import type { GroupLeaseRequest, LeasedEvent } from './steps.ts'
import type { CommitResult, LendingTransaction } from './transaction.ts'

/**
 * Claimed events and the transaction that holds them. Ends with `commit` or `abandon`, exactly once.
 *
 * One that opens late looks then whether the events are still as they were claimed: a sweep, or an operator,
 * may have come between. Of an event that is not, nothing is kept.
 */
export interface Group<Tx> extends LendingTransaction<Tx> {
  readonly events: readonly ClaimedEvent[]
  /** Whether something was written through `tx.write` that was not sent yet. */
  hasWrites(): boolean
  /** Sends it and waits for the answers; throws if any of it failed. `rollbackTo` forgets what was not sent. */
  flush(): Promise<void>
  /** Sets a savepoint. They nest; `name` is one of ours, a plain word. Opens nothing that is not open yet. */
  setSavepoint(name: string): Promise<void>
  rollbackTo(name: string): Promise<void>
  dropSavepoint(name: string): Promise<void>
  /** From now on, how long a statement may wait for a lock. 0: no limit of its own. */
  setLockTimeout(lockTimeoutMs: number): Promise<void>
  /**
   * - `open`: fine, or not opened yet.
   * - `failed`: a statement failed and the transaction can only be rolled back to a savepoint.
   * - `ended`: other code ended the transaction. Nothing in it can be trusted.
   * - `lost`: the connection is gone.
   * - `taken`: when it was to be opened, the events were no longer this worker's.
   */
  status(): 'open' | 'failed' | 'ended' | 'lost' | 'taken'
  /**
   * Writes what became of the events. Throws if this is no longer the transaction that claimed them. Returns
   * those for which nothing was written, because they were taken before the transaction was opened.
   */
  settle(settlements: readonly Settlement[]): Promise<ReadonlySet<EventId>>
  commit(): Promise<CommitResult>
  /**
   * Leases the events, in their order, and ends the group: they run outside any transaction. What is
   * beyond the limit is left to `steps.lease`. Nothing may have been written in the group before.
   */
  lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]>
}
