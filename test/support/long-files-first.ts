import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** What takes minutes. Begun last, one of them would run on alone when everything else has ended. */
const LONG = [
  'test/store/contract/postgres.test.ts',
  'test/store/contract/postgres-15.test.ts',
  'test/inbox/postgres.test.ts',
  'test/inbox/batches-postgres.test.ts',
  'test/inbox/batches-sqlite.test.ts',
  'test/providers/batch-growth.test.ts',
]

/** Vitest begins with the largest files where it has not measured them, and these are the smallest. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      LONG.some((path) => moduleId.endsWith(path))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
