import { compare } from '../harness/compare.ts'
import { drainContestant } from '../harness/measure-drain.ts'
import type { Workload } from './workload.ts'

const PG_BOSS = [
  { batchSize: 50, localConcurrency: 4 },
  { batchSize: 200, localConcurrency: 4 },
  { batchSize: 1_000, localConcurrency: 2 },
  { batchSize: 1_000, localConcurrency: 4 },
]

const GRAPHILE_WORKER = [
  { concurrency: 10, localQueueSize: 0, completeDelayMs: -1 },
  { concurrency: 10, localQueueSize: 500, completeDelayMs: 50 },
  { concurrency: 20, localQueueSize: 2_000, completeDelayMs: 50 },
  { concurrency: 40, localQueueSize: 2_000, completeDelayMs: 10, poolMax: 40 },
]

const ORDERED = 'ours, in 1,000 fifo lanes'

const TEXTBOOK = [{ concurrency: 4 }, { concurrency: 8 }, { concurrency: 16 }]

export const drainStored: Workload = {
  id: 'W2',
  title: 'Drain 50,000 stored events whose handler writes one row',
  async run(context) {
    const events = context.options.quick ? 10_000 : 50_000
    const task = { shape: 'row', events, runtime: 'newest' } as const
    return compare({
      ...context.options,
      say: context.say,
      contestants: [
        drainContestant(context, task, {
          name: 'hookonce',
          script: 'drain-hookonce',
          settings: [{ concurrency: 4, groupMax: 200 }],
        }),
        drainContestant(context, task, {
          name: 'ours, waiting for each write',
          script: 'drain-hookonce',
          settings: [{ concurrency: 4, groupMax: 200, waits: true }],
        }),
        drainContestant(context, task, {
          name: ORDERED,
          script: 'drain-hookonce',
          settings: [{ concurrency: 4, groupMax: 200, lanes: 1_000 }],
        }),
        drainContestant(context, task, {
          name: 'pg-boss, transactional',
          script: 'drain-pg-boss',
          settings: PG_BOSS,
        }),
        drainContestant(context, task, {
          name: 'graphile-worker, at least once',
          script: 'drain-graphile',
          settings: GRAPHILE_WORKER,
        }),
        drainContestant(context, task, {
          name: 'textbook inbox',
          script: 'drain-textbook',
          settings: TEXTBOOK,
        }),
      ],
      goals: [
        { of: 'hookonce', against: 'pg-boss, transactional', atLeast: 2 },
        { of: 'hookonce', against: 'graphile-worker, at least once', atLeast: 3 },
        { of: 'hookonce', against: 'textbook inbox', atLeast: 5 },
        { of: 'ours, waiting for each write', against: 'pg-boss, transactional', atLeast: 1.3 },
        // What an order costs: an event is sorted into its lane before it runs.
        { of: ORDERED, against: 'hookonce' },
      ],
    })
  },
}
