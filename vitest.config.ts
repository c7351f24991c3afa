import { defineConfig } from 'vitest/config'
import { preferMemory } from './test/support/data-folder.ts'
import { listAliases } from './test/support/hookonce-alias.ts'
import { LongFilesFirst } from './test/support/long-files-first.ts'

preferMemory()

const TOOLS = 'test/support/tools/global-setup.ts'
const POSTGRES = 'test/support/postgres/global-setup.ts'
const PACKED = 'test/support/packed/global-setup.ts'
const REDIS = 'test/support/redis/global-setup.ts'

const EXHAUSTIVE = [
  'test/providers/{batch-growth,forged-cost,fuzz,kept-secrets,unsigned-changes}.test.ts',
  'test/store/shared/scanning-cost.test.ts',
]

/**
 * `npm run test:all`. Without it a run leaves out the contract on a second server and driver and with encryption, what
 * many thousand requests do, replies that are slow, and single faults that take their time (`slow-tests.ts`): long
 * outages, clocks that are set again and again.
 */
const RUNS_ALL = process.env['HOOKONCE_TESTS'] === 'all'
const SLOW_FAULTS = RUNS_ALL ? [] : ['test/faults/slow-replies.test.ts']
/** A server that takes a minute to start, and that nothing installs. */
const SLOW_SERVERS = RUNS_ALL ? [] : ['test/docs/rabbitmq.test.ts']
/** A page whose reader installs the package. */
const INSTALLS = ['test/docs/first-service.test.ts']
const OTHER_ENGINES = RUNS_ALL
  ? []
  : [
      'test/store/contract/{postgres-15,node-sqlite}.test.ts',
      'test/store/encryption/everything.test.ts',
    ]

/**
 * What a test needs decides where it is. A server is started once for all projects of a run, by the first that
 * asks for it; a run without such a project starts none.
 */
const PROJECTS = {
  /** Real databases, and nothing that goes wrong: the stores, and inboxes on them. */
  store: {
    include: ['test/{store,inbox,bindings,once,own-tx}/**/*.test.ts'],
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
  /** What a reader and the compiler of a user see: pages, types, how the code is laid out. */
  docs: {
    include: ['test/{docs,types,structure}/**/*.test.ts'],
    exclude: [...SLOW_SERVERS, ...INSTALLS],
    globalSetup: [TOOLS, POSTGRES],
  },
  /** The packed package in the folder of a user. It is built first, where it is not. */
  package: {
    include: ['test/package/**/*.test.ts', ...INSTALLS],
    globalSetup: [PACKED, POSTGRES],
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
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // Many tests wait for a time to pass, a lease or an outage: three of them leave a quarter of two cores idle.
    maxWorkers: 4,
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
            'test/{bindings,cli,deploy,docs,faults,gateway,guard,inbox,metrics,once,own-tx,package,structure,types}/**',
            'test/store/{contract,encryption,postgres,sqlite}/**',
          ],
        },
      },
    ],
  },
})
