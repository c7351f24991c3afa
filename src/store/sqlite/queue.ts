import type { QueueStore } from '../contract/queue.ts'
import { GroupClaimer } from './claim-group.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { look } from './sql/look.ts'
import { parkUnhandled } from './sql/park-unhandled.ts'
import { settleLost } from './sql/settle-lost.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'
import type { SqliteTx } from './tx.ts'

/** The part of the store that hands out events to be worked on. */
export function createQueue(
  connections: Connections,
  held: HeldTransactions,
): QueueStore<SqliteTx> {
  const claimer = new GroupClaimer(connections, held)
  return {
    /** One writer, however many wait for it. */
    requireCapacity: () => undefined,
    claim: (request) => claimer.claim(request),
    look: (request) => look((work) => connections.read(work), request),
    settleLost: async (settlement) => {
      const { lists } = connections.getOpen()
      return connections.write('durably', (connection) =>
        settleLost(connection, settlement, (slot) => lists.isStale(slot)),
      )
    },
    parkUnhandled: (request) =>
      connections.write('durably', (connection) => parkUnhandled(connection, request)),
    listUnhandled: (page) => connections.read((reader) => listUnhandled(reader, page)),
    wakeUnhandled: async (topics, limit) => {
      if (topics.length === 0) return 0
      return connections.write('durably', (connection) => wakeUnhandled(connection, topics, limit))
    },
    /** SQLite cannot tell; the worker's poll finds what other processes have stored. */
    listen: async () => async () => {},
    notify: async () => {},
  }
}
