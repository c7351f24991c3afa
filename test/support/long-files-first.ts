import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Those that have the longest files begin; the many short files of `unit` fill what is left at the end. */
const PROJECTS = [
  'faults',
  'store',
  'gateway',
  'docs',
  'package',
  'exhaustive',
  'guard',
  'examples',
  'unit',
]

/** What takes longest. Begun last, one of them would run on alone when everything else has ended. */
const LONG = [
  'test/faults/kill-everywhere.test.ts',
  'test/faults/outages.test.ts',
  'test/faults/left-behind.test.ts',
  'test/faults/clocks.test.ts',
  'test/faults/steps.test.ts',
  'test/faults/steps-everywhere.test.ts',
  'test/faults/prune.test.ts',
  'test/faults/relay-crash.test.ts',
  'test/faults/stop-without-database.test.ts',
  'test/faults/lanes.test.ts',
  'test/faults/poison.test.ts',
  'test/inbox/postgres.test.ts',
  'test/store/contract/postgres.test.ts',
  'test/store/contract/postgres-15.test.ts',
  'test/inbox/sqlite.test.ts',
  'test/inbox/batches-postgres.test.ts',
  'test/store/contract/sqlite.test.ts',
  'test/inbox/finding-postgres.test.ts',
  'test/inbox/ordering-postgres.test.ts',
  'test/inbox/order-properties-postgres.test.ts',
  'test/store/postgres/local-settings.test.ts',
  'test/inbox/batches-sqlite.test.ts',
  'test/gateway/remote-operator.test.ts',
  'test/gateway/killed.test.ts',
  'test/docs/snippets.test.ts',
  'test/package/optional-peers.test.ts',
  'test/package/esbuild.test.ts',
  'test/docs/error-codes.test.ts',
  'test/providers/forged-cost.test.ts',
  'test/providers/batch-growth.test.ts',
  'test/providers/unsigned-changes.test.ts',
  'test/providers/every-provider.test.ts',
]

/**
 * Project by project, since a worker is used for the next file only if that is one of the same project; and in a
 * project the long files first. Vitest begins with the largest where it has not measured them, and some of the
 * longest are small.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted
      .map((file, at) => ({ file, rank: [rankProject(file), rankFile(file), at] }))
      .sort((one, other) => compare(one.rank, other.rank))
      .map(({ file }) => file)
  }
}

function rankProject({ project }: TestSpecification): number {
  const rank = PROJECTS.indexOf(project.name)
  if (rank < 0) throw new Error(`long-files-first.ts has no place for the project ${project.name}`)
  return rank
}

function rankFile({ moduleId }: TestSpecification): number {
  const rank = LONG.findIndex((path) => moduleId.endsWith(path))
  return rank < 0 ? LONG.length : rank
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((rank, index) => rank !== other[index])
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}
