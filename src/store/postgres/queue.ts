import type { QueueStore } from '../contract/queue.ts'
import { GroupClaimer } from './claim-group.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import type { Listeners } from './listeners.ts'
import { lockNumber } from './lock-number.ts'
import { requirePoolSize } from './options.ts'
import type { ResolvedPostgresStoreOptions } from './options.ts'
import { findStateBehind } from './store-error.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { look } from './sql/look.ts'
import { parkUnhandled } from './sql/park-unhandled.ts'
import { SETTLE_LOST, settleLost } from './sql/settle-lost.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'
import type { PostgresTx } from './tx.ts'

export interface QueueParts {
  readonly options: ResolvedPostgresStoreOptions
  readonly connections: Connections
  readonly held: HeldTransactions
  readonly listeners: Listeners
}

/** The part of the store that hands out events to be worked on. */
export function createQueue({
  options,
  connections,
  held,
  listeners,
}: QueueParts): QueueStore<PostgresTx> {
  const suspectLock = lockNumber(options.schema, 'suspect')
  const claimer = new GroupClaimer(held, suspectLock)
  return {
    requireCapacity: (groups) => requirePoolSize(options.pool, groups),
    claim: (request) => claimer.claim(request),
    look: (request) =>
      connections.use((connection) =>
        look(connection, request, request.runsSuspect === true ? undefined : suspectLock),
      ),
    settleLost: async (settlement) => {
      try {
        return await connections.transact(
          (connection) => settleLost(connection, settlement),
          SETTLE_LOST,
        )
      } catch (error) {
        // Another transaction holds the event.
        if (findStateBehind(error) === '55P03') return false
        throw error
      }
    },
    parkUnhandled: (request) =>
      connections.transact((connection) => parkUnhandled(connection, request)),
    listUnhandled: (page) => connections.use((connection) => listUnhandled(connection, page)),
    wakeUnhandled: async (topics, limit) =>
      topics.length === 0
        ? 0
        : connections.transact((connection) => wakeUnhandled(connection, topics, limit)),
    listen: (wake, onHearing) => listeners.listen(wake, onHearing),
    notify: () => listeners.notify(),
  }
}
