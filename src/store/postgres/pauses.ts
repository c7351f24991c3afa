import type { PauseStore } from '../contract/pauses.ts'
import { atMostOnce } from './act-on-event.ts'
import type { Connections } from './connections.ts'
import { sortLockOf } from './lock-number.ts'
import { pauseLane, resumeLane } from './sql/pause-lane.ts'
import { listPauses, pause, resume } from './sql/pauses.ts'

/** The part of the store that keeps things still. */
export function createPauses(connections: Connections, schema: string): PauseStore {
  return {
    pause: (subject, order) =>
      atMostOnce(() =>
        connections.transact((connection) =>
          subject.kind === 'lane'
            ? pauseLane(connection, subject, order, sortLockOf(schema, subject.source))
            : pause(connection, subject, order),
        ),
      ),
    resume: (subject, order) =>
      atMostOnce(() =>
        connections.transact((connection) =>
          subject.kind === 'lane'
            ? resumeLane(connection, subject, order, sortLockOf(schema, subject.source))
            : resume(connection, subject, order),
        ),
      ),
    list: () => connections.use(listPauses),
  }
}
