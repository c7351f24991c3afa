import type { PruneLimits, PrunePart, PruneStep, RetentionStore } from '../contract/retention.ts'
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
import { shrinkFile } from './sql/shrink-file.ts'
import { findLastRun, surveyPrune } from './sql/survey-prune.ts'
import type { Connection } from './connection.ts'

/** How many rows one step looks at: some milliseconds, after which a delivery has its turn. */
const STEP_ROWS = 50

/** The part of the store that forgets. */
export function createRetention(connections: Connections): RetentionStore {
  return {
    survey: (limitsAt) => connections.read((reader) => surveyPrune(reader, limitsAt)),
    prune: (part, limits, after) =>
      connections.write('lazily', (connection) => pruneStep(connection, part, { limits, after })),
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

function pruneStep(
  connection: Connection,
  part: PrunePart,
  { limits, after }: { readonly limits: PruneLimits; readonly after: string | undefined },
): PruneStep {
  const request = { limits, after, most: STEP_ROWS }
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
