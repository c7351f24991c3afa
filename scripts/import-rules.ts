/**
 * Who may import whom, as data. `scripts/check-imports.ts` reads it and shows the sentence of the
 * part whose rule an import breaks.
 *
 * @module
 */

/** A part of the source tree: a folder, or files that belong together. */
export interface ImportRule {
  readonly part: string
  /** Folders (ending in `/`) and files, from `src/`. The longest that matches a file decides its part. */
  readonly paths: readonly string[]
  /** Names of parts, or single files of a part. Its own files are always allowed. */
  readonly mayImport: readonly string[]
  /** The same, for `import type` only. */
  readonly mayImportTypesOf?: readonly string[]
  readonly because: string
}

const LEAVES = ['model', 'errors']

export const IMPORT_RULES: readonly ImportRule[] = [
  {
    part: 'model',
    paths: ['model/'],
    mayImport: [],
    because: 'The nouns are what everything else is written in, so they lean on nothing of ours.',
  },
  {
    part: 'errors',
    paths: ['errors.ts'],
    mayImport: [],
    because: 'Every part throws these errors, so they lean on nothing of ours.',
  },
  {
    part: 'telemetry',
    paths: ['telemetry/'],
    mayImport: LEAVES,
    because: 'Telemetry is told what happened; it does not know who tells it.',
  },
  {
    part: 'ordering',
    paths: ['ordering/'],
    mayImport: LEAVES,
    because: 'Ordering rules are pure; a store enforces them and a phase asks for them.',
  },
  {
    part: 'verify',
    paths: ['verify/'],
    mayImport: LEAVES,
    because:
      'A signature algorithm knows bytes and keys, and has never heard of a vendor or a store.',
  },
  {
    part: 'providers',
    paths: ['providers/'],
    mayImport: ['verify', ...LEAVES],
    because:
      'A provider is data about a sender on top of the algorithms; storing and running is not its business.',
  },
  {
    part: 'types',
    paths: ['types/'],
    mayImport: LEAVES,
    because:
      'An entry with the types of a package from outside stands alone, so that nobody else needs the package.',
  },
  {
    part: 'contract',
    paths: [
      'store/contract.ts',
      'store/steps-contract.ts',
      'store/outbox-contract.ts',
      'store/claimed-event.ts',
      'store/numbered-draft.ts',
      'store/lent-transaction.ts',
      'store/contention.ts',
      'store/loop-breaks.ts',
      'store/step-result.ts',
      'store/summarize-look.ts',
      'store/transaction-control.ts',
    ],
    mayImport: ['ordering', ...LEAVES],
    because: 'The contract is what phases and stores agree on, so it can know neither side.',
  },
  {
    part: 'postgres',
    paths: ['store/postgres/'],
    mayImport: ['contract', 'ordering', ...LEAVES],
    because:
      'A store knows the contract and no phase, and never another store: each must stand alone.',
  },
  {
    part: 'sqlite',
    paths: ['store/sqlite/'],
    mayImport: ['contract', 'ordering', ...LEAVES],
    because:
      'A store knows the contract and no phase, and never another store: each must stand alone.',
  },
  {
    part: 'receive',
    paths: ['receive/'],
    mayImport: ['contract', 'ordering', 'telemetry', ...LEAVES],
    because:
      'A phase knows the contract and no engine, and never another phase: they meet in the store.',
  },
  {
    part: 'work',
    paths: ['work/'],
    mayImport: ['contract', 'ordering', 'telemetry', ...LEAVES],
    because:
      'A phase knows the contract and no engine, and never another phase: they meet in the store.',
  },
  {
    part: 'outbox',
    paths: ['outbox/'],
    mayImport: [
      'contract',
      'telemetry',
      'egress',
      // A destination fails and is tried again by the words and the rules of a handler, and an idle relay
      // waits like an idle worker, and says goodbye like one.
      'work/at-most.ts',
      'work/retry-policy.ts',
      'work/verdicts.ts',
      'work/wake-up.ts',
      ...LEAVES,
    ],
    because:
      'A phase knows the contract and no engine, and never another phase: they meet in the store. What it sends over HTTP leaves through egress.',
  },
  {
    part: 'admin',
    paths: ['admin/'],
    mayImport: ['contract', 'telemetry', ...LEAVES],
    because: 'An operator acts through the contract, like everybody else, and never around it.',
  },
  {
    part: 'http',
    paths: ['http/'],
    mayImport: ['receive', ...LEAVES],
    mayImportTypesOf: ['inbox'],
    because:
      'An HTTP adapter turns a request into a delivery and an acknowledgement into a response; of the inbox it needs only the interface in http/receiving-inbox.ts.',
  },
  {
    part: 'inbox',
    paths: [
      'inbox.ts',
      'inbox-options.ts',
      'inbox-handlers.ts',
      'handler-types.ts',
      'receive-context.ts',
    ],
    mayImport: [
      'receive',
      'work',
      'outbox',
      'admin',
      'contract',
      'ordering',
      'telemetry',
      // `inbox.fetch` and `inbox.node` are these two. They see the inbox through the interface in
      // http/receiving-inbox.ts, so the arrow points one way only.
      'http/fetch.ts',
      'http/node.ts',
      'http/receiving-inbox.ts',
      ...LEAVES,
    ],
    because:
      'The inbox puts the phases together; a store and the sources are handed to it, so that it works with any of them. Of http it takes fetch.ts and node.ts only, because a framework is the choice of the user.',
  },
  {
    part: 'egress',
    paths: ['egress/'],
    mayImport: LEAVES,
    because:
      'What leaves knows addresses, names and sockets, and nothing of messages: whoever sends goes through it, so it leans on nobody.',
  },
  {
    part: 'guard',
    paths: ['guard/'],
    mayImport: [
      'receive',
      'telemetry',
      // What makes a middleware of the door. A framework is the choice of the user, as with the inbox.
      'http/answer-node.ts',
      'http/parsed-by.ts',
      'http/receiving-inbox.ts',
      // An event has the same envelope and the same idempotency keys, so that moving to an inbox
      // changes neither the work nor what the other side has seen.
      'work/envelope.ts',
      'work/idempotency-key.ts',
      ...LEAVES,
    ],
    mayImportTypesOf: ['inbox'],
    because:
      'The guard is an entry of its own for those without a SQL database: it takes the door of the inbox and what a handler is given, and never a store, a worker or the inbox.',
  },
  {
    part: 'index',
    paths: ['index.ts'],
    mayImport: [
      'inbox',
      'receive',
      'work',
      'outbox',
      'admin',
      'telemetry',
      'contract',
      'http/receiving-inbox.ts',
      ...LEAVES,
    ],
    because:
      'The main entry must not load a store, a provider or a framework: each has an entry of its own.',
  },
  {
    part: 'testing',
    paths: ['testing/'],
    mayImport: ['inbox', 'providers', 'verify', 'contract', ...LEAVES],
    because: 'The test kit uses what a user has: it must not reach into a phase or a store.',
  },
]

/** A package from outside that some files may load, and how. */
export interface OutsideRule {
  readonly files: RegExp
  readonly packages: readonly string[]
  /** @defaultValue 'dynamic' */
  readonly form?: 'dynamic' | 'type'
}

/**
 * Everything from outside that is not built into Node. By dynamic import only: a static one would
 * make everybody install what only some need. Types may be imported by entries of their own, which
 * nobody loads by loading another.
 */
export const OUTSIDE_RULES: readonly OutsideRule[] = [
  {
    files: /^store\/sqlite\/(open-driver|driver-[a-z-]+)\.ts$/,
    packages: ['libsql', 'node:sqlite'],
  },
  { files: /^types\/stripe\.ts$/, packages: ['stripe'], form: 'type' },
  { files: /^types\/github\.ts$/, packages: ['@octokit/openapi-webhooks-types'], form: 'type' },
]

export const OUTSIDE_BECAUSE =
  'The package has no run-time dependency: whoever installs it gets our code and Node, and an optional driver is loaded by import() in store/sqlite/open-driver.ts when it is used. The types of another package may only be in an entry of their own under types/.'
