/**
 * The right to use the writer's connection.
 *
 * Everything that begins, commits or rolls back goes through a turn, and there is one turn at a time:
 * a slot that only waits has none, and cannot end the transaction of the slot that has it.
 *
 * Only SQLite: PostgreSQL lets many write at once.
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import type { LoopBreaks } from '../../flow/loop-breaks.ts'
import type { Connection } from './connection.ts'
import type { WritePauses } from './write-pauses.ts'
import { isBusy, asCommitUnknown, asStoreError } from './store-error.ts'

/**
 * The longest pause between two tries for the lock, before jitter. It is shorter than the pause that a
 * writer makes for others, so that one of the tries falls into it; a try costs some ten microseconds.
 */
const RETRY_MS_MAX = 2

/** What is done in a transaction. It waits for nothing but the breaks that it takes. */
export type Work<Result> = (connection: Connection, breaks: LoopBreaks) => Result | Promise<Result>

export interface TurnParts {
  readonly connection: Connection
  readonly pauses: WritePauses
  readonly breaks: LoopBreaks
  /** Whether the store is being closed, and nothing is waited for any more. */
  readonly isClosed: () => boolean
  /** Called after a commit that must last, before it is reported, and when a statement of ours has failed. */
  readonly checkFiles: () => void
  /** Called once, when the turn is over. */
  readonly onEnd: () => void
}

export class Turn {
  readonly #parts: TurnParts
  #isOver = false

  constructor(parts: TurnParts) {
    this.#parts = parts
  }

  /** Throws when the turn is over: by then the connection is used by another. */
  get connection(): Connection {
    if (this.#isOver) throw new Error('This turn of the writer is over')
    return this.#parts.connection
  }

  /** Runs `work` in a transaction of its own and commits it, or rolls all of it back. */
  async transact<Result>(
    { deadline, durable }: { deadline: number; durable: boolean },
    work: Work<Result>,
  ): Promise<Result> {
    const { connection } = this
    // The level can only be changed outside a transaction.
    if (!durable) connection.execute('pragma synchronous = normal')
    try {
      await this.begin(deadline)
      const result = this.#work(work)
      const ended = result instanceof Promise ? await result : result
      this.#commit()
      if (durable) this.#parts.checkFiles()
      return ended
    } finally {
      if (!durable) connection.execute('pragma synchronous = full')
    }
  }

  /** Takes SQLite's write lock, asking again while another process has it. */
  async begin(deadline: number): Promise<void> {
    for (let delayMs = 1; !this.tryBegin(); delayMs = Math.min(delayMs * 1.5, RETRY_MS_MAX)) {
      if (performance.now() >= deadline) throw new WriterBusyError()
      // The jitter keeps processes that wait for the same lock from asking in step for ever.
      const waitMs = delayMs * (0.5 + Math.random())
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      if (this.#parts.isClosed()) throw closedError()
    }
  }

  /** Takes SQLite's write lock if it is free, and says whether it has. */
  tryBegin(): boolean {
    const { pauses } = this.#parts
    try {
      this.connection.execute('begin immediate')
      pauses.saw(this.#readDataVersion())
      return true
    } catch (error) {
      if (!isBusy(error)) throw asStoreError(error)
      pauses.met()
      return false
    }
  }

  /** @throws StoreUnavailableError also when it has committed into a file that is lost */
  commit(): void {
    this.#commit()
    this.#parts.checkFiles()
  }

  #commit(): void {
    const { connection } = this
    try {
      connection.execute('commit')
    } catch (error) {
      // Refused, and still open: nothing of it was kept. A failure that also ended the transaction
      // may have come after its pages reached the disk.
      if (!connection.inTransaction()) throw asCommitUnknown(error)
      this.rollback()
      throw asStoreError(error)
    }
  }

  /** Never throws: SQLite may have rolled back by itself. Does nothing when the turn is over. */
  rollback(): void {
    if (this.#isOver) return
    const { connection } = this.#parts
    try {
      if (connection.inTransaction()) connection.execute('rollback')
    } catch {
      // Whatever is left of it ends with the connection.
    }
  }

  /** Gives the turn back, without a transaction. Calling it again does nothing. */
  giveBack(): void {
    if (this.#isOver) return
    this.rollback()
    this.#isOver = true
    this.#parts.onEnd()
  }

  #work<Result>(work: Work<Result>): Result | Promise<Result> {
    const rollBack = (error: unknown): never => {
      this.rollback()
      // Files that were changed say more than what SQLite makes of them.
      this.#parts.checkFiles()
      throw asStoreError(error)
    }
    try {
      const result = work(this.connection, this.#parts.breaks)
      return result instanceof Promise ? result.catch(rollBack) : result
    } catch (error) {
      return rollBack(error)
    }
  }

  /** Changes with every commit of a connection other than this one. */
  #readDataVersion(): number {
    return (
      this.connection.all<{ data_version: number }>('pragma data_version')[0]?.data_version ?? 0
    )
  }
}

/** Others had the writer, or SQLite's lock, for as long as the caller was to wait. Nothing was begun. */
export class WriterBusyError extends StoreUnavailableError {
  constructor() {
    super(
      'The database was busy with other writes for too long. SQLite has one writer, and a handler has it until its transaction ends',
    )
  }
}

export function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('The store is closed')
}
