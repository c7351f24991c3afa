import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Run by `npm run test:orms`, which installs the libraries of this folder first. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/orms/*.test.ts'],
    globalSetup: ['test/support/postgres/global-setup.ts'],
    // As for the other tests with real databases.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 3,
  },
})
