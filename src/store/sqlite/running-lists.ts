/**
 * Empties the lists of slots whose events do not run after all.
 *
 * A slot's list is committed before its group opens. Where another process then takes the lock, the
 * list stays behind, and a living worker's list is never swept: its events would wait for the slot to
 * claim again, and count as crashed should the worker die first. So the slot is remembered here until
 * its list has been emptied, or written anew: no list is emptied under a group that runs.
 *
 * Only SQLite: on PostgreSQL a list can be written while a group is open.
 *
 * @module
 */

import type { WorkerSlot } from '../contract/workers.ts'
import type { Connection } from './connection.ts'
import { getOwnProcess } from './process-identity.ts'
import { announce } from './sql/announce.ts'
import type { Turn } from './turn.ts'
import type { Writer } from './writer.ts'

const RETRY_MS = 100

export class RunningLists {
  readonly #writer: Writer
  readonly #waitMs: number
  readonly #stale = new Map<string, WorkerSlot>()
  #isEmptying = false

  constructor(writer: Writer, waitMs: number) {
    this.#writer = writer
    this.#waitMs = waitMs
  }

  /** Returns at once; the list is emptied as soon as the writer is to be had. */
  emptyLater({ workerId, slot }: WorkerSlot): void {
    this.#stale.set(nameOf({ workerId, slot }), { workerId, slot })
    if (!this.#isEmptying) void this.#emptyAll()
  }

  /** The list is another one now, in the transaction that has the turn: there is nothing to be emptied. */
  written(slot: WorkerSlot): void {
    this.#stale.delete(nameOf(slot))
  }

  /** Whether the slot's list names events that do not run. */
  isStale(slot: WorkerSlot): boolean {
    return this.#stale.has(nameOf(slot))
  }

  /** The worker's records are gone, and must not come back. */
  removed(workerId: string): void {
    for (const [name, slot] of this.#stale) {
      if (slot.workerId === workerId) this.#stale.delete(name)
    }
  }

  /** One last try, with the last turn there is. */
  async close(turn: Turn): Promise<void> {
    if (this.#stale.size === 0) return
    try {
      await turn.transact({ deadline: 0, durable: false }, (connection) => this.#empty(connection))
    } catch {
      // Another process has the lock. The worker's heart has stopped, so a sweep will find the list.
    }
  }

  async #emptyAll(): Promise<void> {
    this.#isEmptying = true
    while (this.#stale.size > 0 && !this.#writer.isClosed()) {
      const written = await this.#tryEmpty()
      for (const [name, slot] of written) {
        // Another object under the same name was put there since, for another list.
        if (this.#stale.get(name) === slot) this.#stale.delete(name)
      }
    }
    this.#isEmptying = false
  }

  async #tryEmpty(): Promise<readonly (readonly [string, WorkerSlot])[]> {
    try {
      return await this.#writer.transact({ waitMs: this.#waitMs, durable: false }, (connection) =>
        this.#empty(connection),
      )
    } catch {
      // A file that refuses every write does so at once, and is not to be asked in a tight loop.
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
      return []
    }
  }

  #empty(connection: Connection): readonly (readonly [string, WorkerSlot])[] {
    const stale = [...this.#stale]
    for (const [, slot] of stale)
      announce(connection, { slot, running: [], process: getOwnProcess() })
    return stale
  }
}

function nameOf({ workerId, slot }: WorkerSlot): string {
  return `${workerId} ${slot}`
}
