import type { EventSearchStore } from '../contract/event-search.ts'
import type { Connections } from './connections.ts'
import { STORY_MAX } from '../shared/story-limits.ts'
import { findStory } from './sql/find-story.ts'
import { listMessagesByKey } from './sql/message-record.ts'
import { readBodies } from './sql/read-bodies.ts'
import { summarize, walkEvents, walkKey } from './sql/walk-events.ts'
import { walkFailures } from './sql/walk-failures.ts'
import { walkSettled } from './sql/walk-settled.ts'
import { walkSteps } from './sql/walk-steps.ts'

/** The part of the store for operators who look for events. */
export function createEventSearch(connections: Connections): EventSearchStore {
  return {
    walk: (request) => connections.read((reader) => walkEvents(reader, request)),
    walkKey: (key, request) => connections.read((reader) => walkKey(reader, key, request)),
    summarize: (ids) => connections.read((reader) => summarize(reader, ids)),
    findStory: (id) => connections.read((reader) => findStory(reader, id)),
    listMessagesByKey: (key) =>
      connections.read((reader) => listMessagesByKey(reader, key, STORY_MAX.messages)),
    walkSteps: (after, limit) => connections.read((reader) => walkSteps(reader, after, limit)),
    walkFailures: (request) => connections.read((reader) => walkFailures(reader, request)),
    walkSettled: (request) => connections.read((reader) => walkSettled(reader, request)),
    readBodies: (ids, bytesMax) => connections.read((reader) => readBodies(reader, ids, bytesMax)),
  }
}
