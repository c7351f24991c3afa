import type {
  HandledPattern,
  Heart,
  RunningEvent,
  SweptEvent,
  WorkerBeat,
  WorkerSlot,
  WorkerStore,
} from '../contract/workers.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { getOwnProcess } from './process-identity.ts'
import { announce } from './sql/announce.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { listHandled } from './sql/list-handled.ts'
import { findStopped, listHearts } from './sql/list-hearts.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { sweepLeases } from './sql/sweep-leases.ts'
import { sweepWorkers } from './sql/sweep-workers.ts'

/** The part of the store that knows which workers live. */
export class SqliteWorkers implements WorkerStore {
  readonly #connections: Connections
  readonly #held: HeldTransactions

  constructor(connections: Connections, held: HeldTransactions) {
    this.#connections = connections
    this.#held = held
  }

  /**
   * A claim has written the list of a group before the group was made, and the group empties it when it ends
   * (see `sql/claim-group.ts`). While one is open nothing can be written here, so that the list of another slot
   * that has nothing to run any more is emptied when the group has ended.
   */
  async announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    const { lists } = this.#connections.getOpen()
    if (this.#held.hasGroup(slot)) return
    if (this.#held.isOpen() && running.length === 0) return lists.emptyLater(slot)
    await this.#connections.write('lazily', (connection) => {
      announce(connection, { slot, running, process: getOwnProcess() })
      lists.written(slot)
    })
  }

  /** Nothing can be written while a transaction of ours is open. It is a moment of a heart that beats on. */
  async beat(beat: WorkerBeat): Promise<void> {
    if (this.#held.isOpen()) return
    await this.#connections.write('lazily', (connection) =>
      beatWorker(connection, beat, getOwnProcess()),
    )
  }

  async remove(workerId: string): Promise<void> {
    const { lists } = this.#connections.getOpen()
    await this.#connections.write('lazily', (connection) => {
      removeWorker(connection, workerId)
      lists.removed(workerId)
    })
  }

  async listHearts(): Promise<readonly Heart[]> {
    return this.#connections.read(listHearts)
  }

  async sweep({
    stopped,
    crashesMax,
  }: {
    stopped: readonly Heart[]
    crashesMax: number
  }): Promise<readonly SweptEvent[]> {
    return this.#connections.write('durably', (connection) => {
      const dead = findStopped(connection, stopped)
      return [
        ...sweepLeases(connection, { dead, crashesMax }),
        ...sweepWorkers(connection, { dead, crashesMax }),
      ]
    })
  }

  listHandled(): Promise<readonly HandledPattern[]> {
    return this.#connections.read(listHandled)
  }
}
