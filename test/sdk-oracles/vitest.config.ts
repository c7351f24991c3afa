import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Run by `npm run test:sdks`, which installs the libraries of this folder first. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    include: ['*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The libraries print what they think of bad signatures.
    silent: 'passed-only',
  },
})
