import type { PauseStore } from '../contract/pauses.ts'
import type { Connections } from './connections.ts'
import { listPauses, pause, resume } from './sql/pauses.ts'

/** The part of the store that keeps things still. */
export function createPauses(connections: Connections): PauseStore {
  return {
    pause: (subject, order) =>
      connections.write('durably', (connection) => pause(connection, subject, order)),
    resume: (subject, order) =>
      connections.write('durably', (connection) => resume(connection, subject, order)),
    list: () => connections.read(listPauses),
  }
}
