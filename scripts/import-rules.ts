/**
 * Who may import whom, as data. `scripts/check-imports.ts` reads it and shows the sentence of the
 * part whose rule an import breaks.
 *
 * @module
 */

/** A folder of the source tree, or a file in its root. */
export interface ImportRule {
  readonly part: string
  /** A folder (ending in `/`) or a file, from `src/`. The longest that matches a file decides its part. */
  readonly path: string
  /** Names of parts, whole. Its own files are always allowed. */
  readonly mayImport: readonly string[]
  readonly because: string
}

const LEAVES = ['errors', 'options', 'model']
const PHASE_BECAUSE =
  'A phase knows the contract and no engine, and never another phase: they meet in the store.'
const STORE_BECAUSE =
  'A store knows the contract and no phase, and never another store: each must stand alone.'

export const IMPORT_RULES: readonly ImportRule[] = [
  {
    part: 'errors',
    path: 'errors.ts',
    mayImport: [],
    because: 'Every part throws these errors, so they lean on nothing of ours.',
  },
  {
    part: 'options',
    path: 'options/',
    mayImport: ['errors'],
    because: 'Options are checked everywhere, so the checks know no option.',
  },
  {
    part: 'model',
    path: 'model/',
    mayImport: ['errors', 'options'],
    because: 'The nouns and the rules that several phases share are what everything is written in.',
  },
  {
    part: 'flow',
    path: 'flow/',
    mayImport: ['errors'],
    because: 'Waiting, limiting and interrupting are the same for events, messages and deliveries.',
  },
  {
    part: 'telemetry',
    path: 'telemetry/',
    mayImport: LEAVES,
    because: 'Telemetry is told what happened; it does not know which part tells it.',
  },
  {
    part: 'ordering',
    path: 'ordering/',
    mayImport: LEAVES,
    because: 'The rules of an order are pure; stores keep them, and work asks for them.',
  },
  {
    part: 'body',
    path: 'body/',
    mayImport: LEAVES,
    because: 'Reading JSON and forms knows bytes, and no signature.',
  },
  {
    part: 'verify',
    path: 'verify/',
    mayImport: ['body', ...LEAVES],
    because:
      'A signature algorithm knows bytes and keys, and has never heard of a vendor or a store.',
  },
  {
    part: 'providers',
    path: 'providers/',
    mayImport: ['verify', 'body', ...LEAVES],
    because:
      'A provider is data about a sender on top of the algorithms; storing and running is not its business.',
  },
  {
    part: 'types',
    path: 'types/',
    mayImport: LEAVES,
    because:
      'An entry with the types of a package from outside stands alone, so that no other entry needs the package.',
  },
  {
    part: 'contract',
    path: 'store/contract/',
    mayImport: ['ordering', ...LEAVES],
    because: 'The contract is what phases and stores agree on, so it can know neither side.',
  },
  {
    part: 'shared',
    path: 'store/shared/',
    mayImport: ['contract', 'ordering', ...LEAVES],
    because: 'What both stores do alike knows neither of them.',
  },
  {
    part: 'postgres',
    path: 'store/postgres/',
    mayImport: ['contract', 'shared', 'ordering', 'flow', ...LEAVES],
    because: STORE_BECAUSE,
  },
  {
    part: 'sqlite',
    path: 'store/sqlite/',
    mayImport: ['contract', 'shared', 'ordering', 'flow', ...LEAVES],
    because: STORE_BECAUSE,
  },
  {
    part: 'bindings',
    path: 'bindings/',
    mayImport: ['postgres', 'sqlite', 'contract', 'shared', ...LEAVES],
    because:
      'A library is the choice of the user, so only its own entry knows it; it speaks through what a store lends.',
  },
  {
    part: 'receive',
    path: 'receive/',
    mayImport: ['contract', 'telemetry', 'flow', ...LEAVES],
    because: PHASE_BECAUSE,
  },
  {
    part: 'work',
    path: 'work/',
    mayImport: ['contract', 'ordering', 'telemetry', 'flow', ...LEAVES],
    because: PHASE_BECAUSE,
  },
  {
    part: 'outbox',
    path: 'outbox/',
    mayImport: ['contract', 'telemetry', 'flow', 'egress', ...LEAVES],
    because: `${PHASE_BECAUSE} What it sends over HTTP leaves through egress.`,
  },
  {
    part: 'once',
    path: 'once/',
    mayImport: ['contract', 'telemetry', ...LEAVES],
    because: `${PHASE_BECAUSE} Its messages are drafted by the outbox that the inbox hands to it.`,
  },
  {
    part: 'own-tx',
    path: 'own-tx/',
    mayImport: ['contract', 'shared', ...LEAVES],
    because:
      'A transaction of another library is known by its shape: no library is loaded, and no store is known.',
  },
  {
    part: 'retention',
    path: 'retention/',
    mayImport: ['contract', 'telemetry', 'flow', ...LEAVES],
    because: PHASE_BECAUSE,
  },
  {
    part: 'egress',
    path: 'egress/',
    mayImport: LEAVES,
    because:
      'What leaves knows addresses, names and sockets, and nothing of messages: every sender goes through it.',
  },
  {
    part: 'admin',
    path: 'admin/',
    mayImport: ['retention', 'contract', 'telemetry', 'body', 'flow', ...LEAVES],
    because:
      'An operator acts through the contract, like every other part, and never around it. A value in a payload is found by the reader that finds keys.',
  },
  {
    part: 'backfill',
    path: 'backfill/',
    mayImport: ['body', ...LEAVES],
    because:
      'A back-fill asks an API and hands over deliveries; how they are stored is for receiving to know.',
  },
  {
    part: 'http',
    path: 'http/',
    mayImport: ['receive', 'flow', ...LEAVES],
    because:
      'An HTTP adapter turns a request into a delivery and an acknowledgement into a response; of the inbox it needs only the interface in http/receiving-inbox.ts.',
  },
  {
    part: 'frameworks',
    path: 'http/frameworks/',
    mayImport: ['http', 'receive', ...LEAVES],
    because: 'A framework is the choice of the user, so only its own entry knows it.',
  },
  {
    part: 'inbox',
    path: 'inbox/',
    mayImport: [
      'receive',
      'work',
      'once',
      'outbox',
      'retention',
      'admin',
      'backfill',
      'http',
      'contract',
      'telemetry',
      'flow',
      ...LEAVES,
    ],
    because:
      'The inbox puts the phases together; a store and the sources are handed to it, so that it works with any of them.',
  },
  {
    part: 'guard',
    path: 'guard/',
    mayImport: ['receive', 'telemetry', 'http', ...LEAVES],
    because:
      'The guard is an entry of its own for those without a SQL database: it admits as the inbox does, and never loads a store, a worker or the inbox.',
  },
  {
    part: 'index',
    path: 'index.ts',
    mayImport: [
      'inbox',
      'receive',
      'work',
      'once',
      'own-tx',
      'outbox',
      'retention',
      'admin',
      'backfill',
      'telemetry',
      'contract',
      'ordering',
      'http',
      ...LEAVES,
    ],
    because:
      'The main entry must not load a store, a provider or a framework: each has an entry of its own.',
  },
  {
    part: 'testing',
    path: 'testing/',
    mayImport: [
      'inbox',
      'work',
      'outbox',
      'retention',
      'sqlite',
      'telemetry',
      'providers',
      'verify',
      'body',
      'contract',
      'ordering',
      ...LEAVES,
    ],
    because:
      'The test kit stands above all else: it puts an inbox on a SQLite file, kills it and moves its clock. No part of the product knows the kit.',
  },
  {
    part: 'tracing',
    path: 'tracing/',
    mayImport: ['telemetry', ...LEAVES],
    because: 'A tracer gets what it tells of; an inbox knows no tracer but by its interface.',
  },
  {
    part: 'metrics',
    path: 'metrics/',
    mayImport: ['admin', 'telemetry', ...LEAVES],
    because:
      'Numbers hang on what an inbox tells and on what an operator sees, as those of any user could.',
  },
  {
    part: 'gateway',
    path: 'gateway/',
    mayImport: [
      'index',
      'metrics',
      'tracing',
      'providers',
      'postgres',
      'sqlite',
      'admin',
      'http',
      'contract',
      'body',
      'egress',
      'flow',
      'telemetry',
      ...LEAVES,
    ],
    because:
      'The gateway is built from what a user has: what it does with events goes through the entries of the package.',
  },
  {
    part: 'cli',
    path: 'cli/',
    mayImport: [
      'gateway',
      'admin',
      'backfill',
      'index',
      'providers',
      'testing',
      'telemetry',
      'body',
      ...LEAVES,
    ],
    because: 'A command reads its flags, calls the gateway or an operator, and prints.',
  },
]

/** A package from outside that some files may load, and how. */
export interface OutsideRule {
  readonly files: RegExp
  readonly packages: readonly string[]
  /** `bundled`: in any form, since the build takes it in. @defaultValue 'dynamic' */
  readonly form?: 'static' | 'dynamic' | 'type' | 'bundled'
  /** Whether a name that is worked out at run time may be loaded as well. What it leads to cannot be checked. */
  readonly mayCompute?: boolean
}

/** An entry for a library: it has the library's types, and loads it when a store opens. */
function bound(files: RegExp, packages: readonly string[]): readonly OutsideRule[] {
  return [
    { files, packages },
    { files, packages, form: 'type' },
  ]
}

/**
 * Everything from outside that is not built into Node. By dynamic import only: a static one would
 * make every user install what only some need. Types may be imported by entries of their own, which
 * are not loaded by loading another entry. So may a test runner, by an entry that is for nothing else.
 */
export const OUTSIDE_RULES: readonly OutsideRule[] = [
  {
    files: /^store\/sqlite\/driver-[a-z-]+\.ts$/,
    packages: ['libsql', 'node:sqlite'],
  },
  // The installed binding is loaded under a name that a bundler does not see.
  {
    files: /^store\/sqlite\/open-driver\.ts$/,
    packages: ['libsql', 'node:sqlite'],
    mayCompute: true,
  },
  { files: /^types\/stripe\.ts$/, packages: ['stripe'], form: 'type' },
  { files: /^types\/github\.ts$/, packages: ['@octokit/openapi-webhooks-types'], form: 'type' },
  ...bound(/^bindings\/drizzle(-options|-sqlite)?\.ts$/, ['drizzle-orm']),
  { files: /^tracing\/opentelemetry\.ts$/, packages: ['@opentelemetry/api'], form: 'type' },
  { files: /^testing\/runners\/vitest\.ts$/, packages: ['vitest'], form: 'type' },
  { files: /^testing\/runners\/vitest\.ts$/, packages: ['vitest'], form: 'static' },
  { files: /^testing\/runners\/jest-globals\.ts$/, packages: ['@jest/globals'], form: 'static' },
  ...bound(/^bindings\/drizzle\.ts$/, ['drizzle-orm/node-postgres', 'drizzle-orm/pg-core']),
  ...bound(/^bindings\/drizzle-sqlite\.ts$/, [
    'drizzle-orm/sqlite-proxy',
    'drizzle-orm/sqlite-core',
  ]),
  ...bound(/^bindings\/kysely(-transaction)?\.ts$/, ['kysely']),
  // MikroORM 7 brings a Kysely of its own: only types are named, and in no declaration that its entry gives.
  { files: /^bindings\/(lent|mikro-orm)-kysely\.ts$/, packages: ['kysely'], form: 'type' },
  ...bound(/^bindings\/knex\.ts$/, ['knex']),
  {
    files: /^(gateway|cli)\//,
    packages: ['commander', 'jiti', 'pg', 'pino', 'zod'],
    form: 'bundled',
  },
  {
    files: /^gateway\/undici-/,
    packages: ['undici', 'undici/lib/core/connect.js', 'undici/lib/dispatcher/agent.js'],
    form: 'bundled',
  },
  {
    files: /^gateway\/mcp\//,
    packages: ['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio'],
    form: 'bundled',
  },
]

export const OUTSIDE_BECAUSE =
  'The package has no run-time dependency: a user who installs it gets our code and Node, and an optional driver is loaded by import() in store/sqlite/open-driver.ts when it is used. The types of another package may only be in an entry of their own, under types/, bindings/ or testing/runners/. What the gateway and the command need is taken into the file that `scripts/bundle-cli.ts` makes of them.'
