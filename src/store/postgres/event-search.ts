import type { EventSearchStore } from '../contract/event-search.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { STORY_MAX } from '../shared/story-limits.ts'
import { isEventId } from './is-event-id.ts'
import { findStory } from './sql/find-story.ts'
import { listMessagesByKey } from './sql/message-record.ts'
import { readBodies } from './sql/read-bodies.ts'
import { summarize, walkEvents, walkKey } from './sql/walk-events.ts'
import { walkFailures } from './sql/walk-failures.ts'
import { walkSettled } from './sql/walk-settled.ts'
import { walkSteps } from './sql/walk-steps.ts'

/** The part of the store for operators who look for events. */
export function createEventSearch(connections: Connections): EventSearchStore {
  /**
   * Many small look-ups in many partitions are estimated as dear, and what is dear is compiled to machine code
   * before it runs: longer than these take. So they are told not to (`functions.ts` has a measurement).
   */
  const look = <T>(work: (connection: Connection) => Promise<T>): Promise<T> =>
    connections.transact(async (connection) => {
      await connection.query(WITHOUT_COMPILING)
      return work(connection)
    })
  return {
    walk: (request) => look((connection) => walkEvents(connection, request)),
    walkKey: (key, request) => look((connection) => walkKey(connection, key, request)),
    summarize: (ids) => look((connection) => summarize(connection, ids)),
    findStory: async (id) =>
      isEventId(id) ? look((connection) => findStory(connection, id)) : undefined,
    listMessagesByKey: (key) =>
      look((connection) => listMessagesByKey(connection, key, STORY_MAX.messages)),
    walkSteps: (after, limit) => look((connection) => walkSteps(connection, after, limit)),
    walkFailures: (request) => look((connection) => walkFailures(connection, request)),
    walkSettled: (request) => look((connection) => walkSettled(connection, request)),
    readBodies: (ids, bytesMax) => look((connection) => readBodies(connection, ids, bytesMax)),
  }
}

const WITHOUT_COMPILING = `
  select pg_catalog.set_config('jit', 'off', true)`
