import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Run by `npm run test:bundlers`, which builds the package and installs what is in this folder first. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    include: ['*.test.ts'],
    globalSetup: ['../support/packed/global-setup.ts', '../support/postgres/global-setup.ts'],
    // A build takes ten seconds, and a minute on a machine with other things to do.
    testTimeout: 400_000,
    hookTimeout: 60_000,
  },
})
