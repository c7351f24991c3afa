import { defineConfig } from 'vitest/config'
import { preferMemory } from './test/support/data-folder.ts'
import { listAliases } from './test/support/hookonce-alias.ts'
import { LongFilesFirst } from './test/support/long-files-first.ts'

preferMemory()

const TOOLS = 'test/support/tools/global-setup.ts'
const POSTGRES = 'test/support/postgres/global-setup.ts'
const REDIS = 'test/support/redis/global-setup.ts'

const EXHAUSTIVE = [
  'test/http/receiver-fuzz.test.ts',
  'test/providers/{batch-growth,forged-cost,fuzz,kept-secrets,unsigned-changes}.test.ts',
  'test/store/shared/scanning-cost.test.ts',
]

/**
 * `npm run test:all`. Without it a run leaves out the contract on a second server and driver, the kit on PostgreSQL, what costs minutes, and
 * faults that take their time: outages, restores, clocks that are set, replies that are slow.
 */
const RUNS_ALL = process.env['HOOKONCE_TESTS'] === 'all'
const SLOW_FAULTS = RUNS_ALL
  ? []
  : [
      'test/faults/{clocks,outages,promotion,slow-replies,stop-without-database}.test.ts',
      'test/faults/{left-behind,restored,terminated-backends}.test.ts',
    ]
/** A server that takes a minute to start, and that nothing installs. */
const SLOW_SERVERS = RUNS_ALL ? [] : ['test/docs/rabbitmq.test.ts']
const OTHER_ENGINES = RUNS_ALL
  ? []
  : ['test/store/contract/{postgres-15,node-sqlite}.test.ts', 'test/inbox/kit-postgres.test.ts']

/**
 * What a test needs decides where it is. A server is started once for all projects of a run, by the first that
 * asks for it; a run without such a project starts none.
 */
const PROJECTS = {
  /** Real databases, and nothing that goes wrong: the stores, and inboxes on them. */
  store: {
    include: ['test/{store,inbox,bindings}/**/*.test.ts'],
    exclude: ['test/store/shared/**', ...OTHER_ENGINES],
    globalSetup: [POSTGRES],
  },
  /** Processes that are killed, connections that are cut, clocks that are wrong. */
  faults: {
    include: ['test/faults/**/*.test.ts'],
    exclude: SLOW_FAULTS,
    globalSetup: [TOOLS, POSTGRES],
  },
  /** The gateway and the command, as processes, and what is deployed with them. */
  gateway: {
    include: ['test/{gateway,cli,metrics,deploy}/**/*.test.ts'],
    globalSetup: [TOOLS, POSTGRES],
  },
  /** The guard, on Redis. */
  guard: {
    include: ['test/guard/**/*.test.ts'],
    globalSetup: [REDIS],
  },
  /** What many thousand requests do, and what they cost: by the processor's time, in a worker of their own. */
  exhaustive: {
    include: EXHAUSTIVE,
    isolate: true,
  },
  /** What a reader and the compiler of a user see: pages, types, the package. */
  docs: {
    include: ['test/{docs,types,package,structure}/**/*.test.ts'],
    exclude: SLOW_SERVERS,
    globalSetup: [TOOLS],
  },
}

const ELSEWHERE = [
  '**/node_modules/**',
  // These need packages that `npm run test:sdks`, `npm run test:orms` and `npm run test:bundlers` install.
  'examples/{nestjs-typeorm,nextjs-prisma}/**',
  'test/sdk-oracles/**',
  'test/orms/**',
  'test/bundlers/**',
]

export default defineConfig({
  test: {
    // Real databases and real processes on a busy machine; a test waits for conditions, not for this.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A condition that is waited for has half of that; by default it would be a second.
    expect: { poll: { timeout: 60_000 } },
    // Many tests wait for a time to pass, a lease or an outage: two of them use half of a machine with two cores.
    maxWorkers: 3,
    // Modules are loaded once in a worker and not once in a file. Nothing of ours happens at import, and what a
    // test changes outside of itself it puts back, or the next file would see it.
    isolate: false,
    sequence: { sequencer: LongFilesFirst },
    projects: [
      ...Object.entries(PROJECTS)
        .filter(([name]) => RUNS_ALL || name !== 'exhaustive')
        .map(([name, test]) => ({
          extends: true as const,
          test: { name, exclude: ELSEWHERE, ...test },
        })),
      {
        extends: true as const,
        resolve: { alias: listAliases() },
        test: {
          name: 'examples',
          include: ['examples/**/*.test.ts'],
          exclude: ELSEWHERE,
          globalSetup: [POSTGRES],
        },
      },
      {
        extends: true as const,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...ELSEWHERE,
            ...EXHAUSTIVE,
            'test/{bindings,cli,deploy,docs,faults,gateway,guard,inbox,metrics,package,structure,types}/**',
            'test/store/{contract,postgres,sqlite}/**',
          ],
        },
      },
    ],
  },
})
