import { compare } from '../harness/compare.ts'
import { drainContestant } from '../harness/measure-drain.ts'
import type { Check, MeasuredContestant } from '../harness/measurement.ts'
import type { Workload } from './workload.ts'

const PG_BOSS = [
  // A batch of 1 cannot burst: it waits half a second for every event.
  { batchSize: 2, localConcurrency: 4 },
  { batchSize: 5, localConcurrency: 4 },
  { batchSize: 20, localConcurrency: 4 },
]

export const drainSharedRows: Workload = {
  id: 'W2b',
  title: 'Drain 20,000 stored events that each add to one of 1,000 balances, 4 workers',
  async run(context) {
    const events = context.options.quick ? 4_000 : 20_000
    const task = { shape: 'balance', events, runtime: 'newest' } as const
    const compared = await compare({
      ...context.options,
      say: context.say,
      contestants: [
        drainContestant(context, task, {
          name: 'hookonce',
          script: 'drain-hookonce',
          settings: [{ concurrency: 4, groupMax: 200 }],
        }),
        drainContestant(context, task, {
          name: 'hookonce, one event per transaction',
          script: 'drain-hookonce',
          settings: [{ concurrency: 4, groupMax: 1 }],
        }),
        drainContestant(context, task, {
          name: 'pg-boss, transactional',
          script: 'drain-pg-boss',
          settings: PG_BOSS,
        }),
      ],
      goals: [
        { of: 'hookonce', against: 'hookonce, one event per transaction', atLeast: 2 },
        { of: 'hookonce', against: 'pg-boss, transactional', atLeast: 2 },
      ],
    })
    const ours = compared.contestants.filter(({ name }) => name.startsWith('hookonce'))
    return { ...compared, checks: [...compared.checks, ...ours.map(checkErrors)] }
  },
}

/** Locks and deadlocks are ours to get over; a user must not see an attempt fail for them. */
function checkErrors({ name, measurements }: MeasuredContestant): Check {
  const surfaced = measurements.reduce(
    (sum, { notes }) => sum + Number(notes['failed'] ?? 0) + Number(notes['errors'] ?? 0),
    0,
  )
  return {
    name: `${name}: no deadlock surfaces`,
    isOk: surfaced === 0,
    detail: `${surfaced} errors surfaced`,
  }
}
