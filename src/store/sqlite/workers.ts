import type { WorkerStore } from '../contract/workers.ts'
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
export function createWorkers(connections: Connections, held: HeldTransactions): WorkerStore {
  return {
    /**
     * A claim has written the list of a group before the group was made, and the group empties it when it ends
     * (see `sql/claim-group.ts`). While one is open nothing can be written here, so that the list of another slot
     * that has nothing to run any more is emptied when the group has ended.
     */
    announce: async (slot, running) => {
      const { lists } = connections.getOpen()
      if (held.hasGroup(slot)) return
      if (held.isOpen() && running.length === 0) return lists.emptyLater(slot)
      await connections.write('lazily', (connection) => {
        announce(connection, { slot, running, process: getOwnProcess() })
        lists.written(slot)
      })
    },
    /** Nothing can be written while a transaction of ours is open. It is a moment of a heart that beats on. */
    beat: async (beat) => {
      if (held.isOpen()) return
      await connections.write('lazily', (connection) =>
        beatWorker(connection, beat, getOwnProcess()),
      )
    },
    remove: async (workerId) => {
      const { lists } = connections.getOpen()
      await connections.write('lazily', (connection) => {
        removeWorker(connection, workerId)
        lists.removed(workerId)
      })
    },
    listHearts: () => connections.read(listHearts),
    sweep: ({ stopped, crashesMax }) =>
      connections.write('durably', (connection) => {
        const dead = findStopped(connection, stopped)
        return [
          ...sweepLeases(connection, { dead, crashesMax }),
          ...sweepWorkers(connection, { dead, crashesMax }),
        ]
      }),
    listHandled: () => connections.read(listHandled),
  }
}
