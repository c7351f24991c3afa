import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { preferMemory } from '../support/data-folder.ts'
import { listAliases } from '../support/hookonce-alias.ts'

preferMemory()

/** TypeORM 0.3 is still what most services have: what holds for the version of `package.json` is held for it as well. */
const OLDER_TYPEORM = { find: /^typeorm$/, replacement: 'typeorm03' }

/** MikroORM 7 is a folder of its own: its packages want a core of their version, and there is one in a folder. */
const NEWER_MIKRO_ORM = {
  find: /^@mikro-orm\//,
  replacement: fileURLToPath(new URL('mikro-orm-7/node_modules/@mikro-orm/', import.meta.url)),
}

/** The Kysely that MikroORM 7 brings, which wants a newer Node than the root does. */
const NEWER_KYSELY = {
  find: /^kysely$/,
  replacement: fileURLToPath(new URL('mikro-orm-7/node_modules/kysely', import.meta.url)),
}

/** The same for a process that a test starts, by the paths of such a file. */
const pathsOf = (file: string) => ({
  TSX_TSCONFIG_PATH: fileURLToPath(new URL(file, import.meta.url)),
})

const ofNewerKysely = {
  extends: true as const,
  resolve: { alias: [NEWER_KYSELY, ...listAliases()] },
  test: {
    name: 'kysely-0.29',
    include: ['test/bindings/kysely.test.ts'],
    env: pathsOf('mikro-orm-7/tsconfig.json'),
  },
}

/** Run by `npm run test:orms`, which installs the libraries of this folder first. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    projects: [
      {
        extends: true as const,
        resolve: { alias: listAliases() },
        test: {
          name: 'orms',
          include: ['test/orms/*.test.ts', 'examples/{nestjs-typeorm,nextjs-prisma}/*.test.ts'],
        },
      },
      {
        extends: true as const,
        resolve: { alias: [NEWER_MIKRO_ORM, ...listAliases()] },
        test: {
          name: 'mikro-orm-7',
          include: ['test/orms/mikro-orm.test.ts', 'test/orms/mikro-orm-7/*.test.ts'],
          env: pathsOf('mikro-orm-7/tsconfig.json'),
        },
      },
      ...(process.env['HOOKONCE_TESTS'] === 'all' ? [ofNewerKysely] : []),
      {
        extends: true as const,
        resolve: { alias: [OLDER_TYPEORM, ...listAliases()] },
        test: {
          name: 'typeorm-0.3',
          include: ['test/orms/typeorm.test.ts'],
          env: pathsOf('typeorm-0.3.tsconfig.json'),
        },
      },
    ],
    globalSetup: [
      'test/support/postgres/global-setup.ts',
      'test/support/packed/global-setup.ts',
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
