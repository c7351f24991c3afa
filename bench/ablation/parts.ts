/**
 * Parts of the package that are there to be fast, each with the change that switches it off. The change is made in a
 * copy of what was compiled: what ships has no switches.
 *
 * @module
 */

export type AblationWorkload =
  | 'W1'
  | 'W2'
  | 'W2, waiting'
  | 'W2b'
  | 'W2b, two inboxes'
  | 'W2b, waiting, two inboxes'
  | 'W4'
  | 'W10'
  | 'W11'
  | 'W11, old snapshot'

export interface Part {
  readonly name: string
  /** What is done instead. */
  readonly without: string
  /** What it was made for. */
  readonly workloads: readonly AblationWorkload[]
  readonly changes: readonly Change[]
}

/** The text must be in the file exactly once. */
export interface Change {
  readonly file: string
  readonly search: string
  readonly replace: string
}

export const PARTS: readonly Part[] = [
  {
    name: 'pending-writes',
    without: 'each write is sent by itself and its answer waited for',
    workloads: ['W2'],
    changes: [
      {
        file: 'src/store/postgres/pending-writes.ts',
        search: '    if (takesBatches(connection.client)) {\n',
        replace: '    if ((false as boolean) && takesBatches(connection.client)) {\n',
      },
    ],
  },
  {
    name: 'statement-names',
    without: 'statements of handlers have no names',
    workloads: ['W2, waiting'],
    changes: [
      {
        file: 'src/store/postgres/statement-names.ts',
        search: '  #isOff = false\n',
        replace: '  #isOff = true\n',
      },
    ],
  },
  {
    name: 'low-water-positions',
    without: 'each claim and each look begins at the head of the queue of messages',
    workloads: ['W11, old snapshot'],
    changes: [
      {
        file: 'src/store/postgres/low-water-positions.ts',
        search: 'now - position.wholeAt < WHOLE_EVERY_MS\n',
        replace: 'now - position.wholeAt < 0 * WHOLE_EVERY_MS\n',
      },
      {
        file: 'src/store/postgres/low-water-positions.ts',
        search:
          'if (position === undefined) return { destination, ageMs: undefined, wholeInMs: undefined }',
        replace:
          'if (position === undefined || now >= 0) return { destination, ageMs: undefined, wholeInMs: undefined }',
      },
    ],
  },
  {
    name: 'contention-queue',
    without: 'contended groups run side by side',
    workloads: ['W2b'],
    changes: [
      {
        file: 'src/work/group/contention-queue.ts',
        search: 'return this.#now() < (this.#contended.get(name)?.until ?? 0)',
        replace: 'return this.#now() < 0 * (this.#contended.get(name)?.until ?? 0)',
      },
    ],
  },
  {
    name: 'group-sizes',
    without: 'a group is as large as its time allows, whatever contention it has met',
    workloads: ['W2', 'W2b', 'W2b, two inboxes', 'W2b, waiting, two inboxes'],
    changes: [
      {
        file: 'src/work/group/group-sizes.ts',
        search: 'if (averageMs === 0) return limit',
        replace: 'if (averageMs === 0) return this.#groupMax',
      },
      {
        file: 'src/work/group/group-sizes.ts',
        search: 'return Math.min(limit, this.#budgetMs / (averageMs + this.#settleMs))',
        replace: 'return Math.min(limit * 1e6, this.#budgetMs / (averageMs + this.#settleMs))',
      },
    ],
  },
  {
    name: 'committed-keys',
    without: 'no key is found in memory, and the database is asked',
    workloads: ['W4'],
    changes: [
      {
        file: 'src/receive/committed-keys.ts',
        search: 'if (performance.now() >= this.#validUntil) return undefined',
        replace: 'if (performance.now() >= 0 * this.#validUntil) return undefined',
      },
    ],
  },
  {
    name: 'step-transactions',
    without: 'each step that writes has a transaction of its own',
    workloads: ['W10'],
    changes: [
      {
        file: 'src/work/steps/step-transactions.ts',
        search: '    if (this.#isSlow(waiting)) return this.#runAlone(waiting)\n',
        replace: '    if (this.#shared >= 0) return this.#runAlone(waiting)\n',
      },
    ],
  },
]
