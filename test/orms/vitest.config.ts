import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Run by `npm run test:orms`, which installs the libraries of this folder first. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    include: ['*.test.ts'],
    globalSetup: ['../support/postgres/global-setup.ts', './generate-prisma.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
})
