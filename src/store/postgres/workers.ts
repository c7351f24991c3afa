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
import { announce } from './sql/announce.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { listHandled } from './sql/list-handled.ts'
import { listHearts, lockStopped } from './sql/list-hearts.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { sweepLeases } from './sql/sweep-leases.ts'
import { sweepWorkers } from './sql/sweep-workers.ts'

/** The part of the store that knows which workers live. */
export class PostgresWorkers implements WorkerStore {
  readonly #connections: Connections

  constructor(connections: Connections) {
    this.#connections = connections
  }

  async announce(slot: WorkerSlot, running: readonly RunningEvent[]): Promise<void> {
    await this.#connections.useControl(async (connection) => announce(connection, slot, running))
  }

  async beat(beat: WorkerBeat): Promise<void> {
    await this.#connections.useControl(async (connection) => beatWorker(connection, beat))
  }

  async remove(workerId: string): Promise<void> {
    await this.#connections.useControl(async (connection) => removeWorker(connection, workerId))
  }

  async listHearts(): Promise<readonly Heart[]> {
    return this.#connections.useControl(async (connection) => listHearts(connection))
  }

  async sweep({
    stopped,
    crashesMax,
  }: {
    stopped: readonly Heart[]
    crashesMax: number
  }): Promise<readonly SweptEvent[]> {
    return this.#connections.transactOnControl(async (connection) => {
      const dead = await lockStopped(connection, stopped)
      return [
        ...(await sweepLeases(connection, { dead, crashesMax })),
        ...(await sweepWorkers(connection, { dead, crashesMax })),
      ]
    })
  }

  async listHandled(): Promise<readonly HandledPattern[]> {
    return this.#connections.use(async (connection) => listHandled(connection))
  }
}
