import type { WorkerStore } from '../contract/workers.ts'
import type { Connections } from './connections.ts'
import { announce } from './sql/announce.ts'
import { beatWorker } from './sql/beat-worker.ts'
import { listHandled } from './sql/list-handled.ts'
import { listHearts, lockStopped } from './sql/list-hearts.ts'
import { removeWorker } from './sql/remove-worker.ts'
import { sweepLeases } from './sql/sweep-leases.ts'
import { sweepWorkers } from './sql/sweep-workers.ts'

/** The part of the store that knows which workers live. */
export function createWorkers(connections: Connections): WorkerStore {
  return {
    announce: async (slot, running) => {
      await connections.useControl((connection) => announce(connection, slot, running))
    },
    beat: async (beat) => {
      await connections.useControl((connection) => beatWorker(connection, beat))
    },
    remove: async (workerId) => {
      await connections.useControl((connection) => removeWorker(connection, workerId))
    },
    listHearts: () => connections.useControl(listHearts),
    sweep: ({ stopped, crashesMax }) =>
      connections.transactOnControl(async (connection) => {
        const dead = await lockStopped(connection, stopped)
        return [
          ...(await sweepLeases(connection, { dead, crashesMax })),
          ...(await sweepWorkers(connection, { dead, crashesMax })),
        ]
      }),
    listHandled: () => connections.use(listHandled),
  }
}
