import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './test/support/long-files-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These need packages that `npm run test:sdks` and `npm run test:bundlers` install.
    exclude: ['**/node_modules/**', 'bench/**', 'test/sdk-oracles/**', 'test/bundlers/**'],
    globalSetup: [
      'test/support/tools/global-setup.ts',
      'test/support/postgres/global-setup.ts',
      'test/support/redis/global-setup.ts',
    ],
    // Real databases and real processes on a busy machine; a test waits for conditions, not for this.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A condition that is waited for has half of that; by default it would be a second.
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    sequence: { sequencer: LongFilesFirst },
  },
})
