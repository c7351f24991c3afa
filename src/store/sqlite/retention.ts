import type { PrunePart, PruneStep, RetentionStore } from '../contract/retention.ts'
import type { Connections } from './connections.ts'
import { findPolicy, keepPolicy } from './sql/keep-policy.ts'
import { beginOrdered, noteRun } from './sql/note-run.ts'
import { pruneAudit } from './sql/prune-audit.ts'
import { pruneBeside } from './sql/prune-beside.ts'
import { pruneBulks } from './sql/prune-bulks.ts'
import { pruneDead } from './sql/prune-dead.ts'
import { pruneKeys } from './sql/prune-keys.ts'
import { pruneLanes } from './sql/prune-lanes.ts'
import { pruneMessages } from './sql/prune-messages.ts'
import { prunePayloads } from './sql/prune-payloads.ts'
import type { PruneRequest } from './sql/prune-payloads.ts'
import { shrinkFile } from './sql/shrink-file.ts'
import { findLastRun, surveyPrune } from './sql/survey-prune.ts'
import type { Connection } from './connection.ts'

/** How many rows the first step looks at. */
const FIRST_ROWS = 50
const ROWS_MAX = 2_000
/**
 * How long a step should hold the one writer: as long as a group of handlers does. Rows of a cold file take a hundred
 * times as long as those in memory, so their number follows from how long the step before took. With 50 rows in each
 * step a database that takes in 1,700 events a second was never pruned: a step waits longer for the writer than it
 * has it, and one that does little each time falls behind.
 */
const HELD_MS = 10

/** The part of the store that forgets. */
export function createRetention(connections: Connections): RetentionStore {
  let rows = FIRST_ROWS
  return {
    survey: (limits) => connections.read((reader) => surveyPrune(reader, limits)),
    prune: (part, limits, after) =>
      connections.write('lazily', (connection) => {
        const startedAt = performance.now()
        const step = pruneStep(connection, part, { limits, after, most: rows })
        const heldMs = performance.now() - startedAt
        rows = nextRows(rows, heldMs)
        return { ...step, heldMs }
      }),
    shrink: () => connections.write('lazily', shrinkFile),
    findLastRun: async () => {
      const { nowMs, last } = await connections.read(findLastRun)
      return { nowMs, lastMs: last.atMs }
    },
    // Most starts find it there, and need not wait for the writer.
    keepPolicy: async (policy) => {
      if ((await connections.read(findPolicy)) === policy) return
      await connections.write('lazily', (connection) => keepPolicy(connection, policy))
    },
    findPolicy: () => connections.read(findPolicy),
    beginOrdered: (order) =>
      connections.write('durably', (connection) => beginOrdered(connection, order)),
    noteRun: (run, ordered) =>
      connections.write('lazily', (connection) => noteRun(connection, run, ordered)),
  }
}

/** Half as many after a step that took too long, twice as many after one that was much too short. */
export function nextRows(rows: number, heldMs: number): number {
  if (heldMs > HELD_MS) return Math.max(FIRST_ROWS, Math.floor(rows / 2))
  return heldMs < HELD_MS / 2 ? Math.min(ROWS_MAX, rows * 2) : rows
}

function pruneStep(connection: Connection, part: PrunePart, request: PruneRequest): PruneStep {
  switch (part) {
    case 'dead':
      return pruneDead(connection, request)
    case 'payloads':
      return prunePayloads(connection, request)
    case 'audit':
      return pruneAudit(connection, request)
    case 'bulks':
      return pruneBulks(connection, request)
    case 'messages':
      return pruneMessages(connection, request)
    case 'keys':
      return pruneKeys(connection, request)
    case 'lanes':
      return pruneLanes(connection, request)
    default:
      return pruneBeside(connection, part, request)
  }
}
