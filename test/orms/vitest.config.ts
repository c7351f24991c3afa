import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { preferMemory } from '../support/data-folder.ts'
import { listAliases } from '../support/hookonce-alias.ts'

preferMemory()

/** Run by `npm run test:orms`, which installs the libraries of this folder first. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  resolve: { alias: listAliases() },
  test: {
    include: ['test/orms/*.test.ts', 'examples/{nestjs-typeorm,nextjs-prisma}/*.test.ts'],
    globalSetup: [
      'test/support/postgres/global-setup.ts',
      'test/orms/link-packages.ts',
      'test/orms/generate-prisma.ts',
    ],
    // As for the other tests with real databases.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 3,
  },
})
