import { defineConfig } from 'vitest/config'

/** The SQLite contract alone, for a run on another Node: no server is started for it. */
export default defineConfig({
  test: {
    include: ['test/store/contract/sqlite.test.ts'],
    testTimeout: 120_000,
    maxWorkers: 1,
    reporters: ['verbose'],
    testNamePattern: 'on node:sqlite',
  },
})
